/** Callers who may not run commands do not choose the document of a pipeline whose steps are stored elsewhere. */
import { createServer } from 'node:http'
import { ApiKeyCreated, Build, Pipeline, type Client, type Scope } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

async function store(scene: HttpScene, template: string): Promise<void> {
  const document = `kind: pipeline\nmetadata: {name: team/deploy}\nspec:\n  variables: [{key: REPO, value: team/app}]\n  specTemplate: ${template}\n`
  await scene.admin.call('PUT', '/v1/pipelines/team%2Fdeploy', Pipeline, { body: { name: 'team/deploy', document } })
}

async function keyOf(scene: HttpScene, ...scopes: Scope[]): Promise<Client> {
  const body = { name: scopes.join('-').replaceAll(':', '-'), role: 'user', scopes }
  return scene.nobody.withToken((await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body })).token)
}

/** Returns the key of a step of a pipeline in the same project. */
async function stepKey(scene: HttpScene): Promise<Client> {
  await scene.admin.call('PUT', '/v1/pipelines/team%2Ftest', Pipeline, { body: { name: 'team/test', document: HELLO } })
  const { engine } = await scene.start({ pipeline: 'team/test', document: undefined })
  return scene.nobody.withToken(engine.claimed.buildToken ?? '')
}

const startBy = (client: Client, input: object): Promise<Build> =>
  client.call('POST', '/v1/builds', Build, { body: { pipeline: 'team/deploy', ...input } })

const restartBy = (client: Client, id: string, input: object = {}): Promise<Build> =>
  startBy(client, { pipeline: undefined, restartOf: id, ...input })

async function sourceOf({ server }: HttpScene, { id }: Build): Promise<unknown> {
  const { query } = server.app.store
  const row = await query.selectFrom('build_plan').select('plan').where('build_id', '=', id).executeTakeFirstOrThrow()
  return JSON.parse(row.plan ?? '{}').source
}

const REFUSED = { code: 'scope-missing', status: 403, message: expect.stringContaining('cannot choose the document') }
const EVIL = 'https://evil.test/x.git'

test('a step, and a key that may only start builds, cannot choose the revision of the document', async () => {
  await using scene = await openHttpScene()
  const limited = [await stepKey(scene), await keyOf(scene, 'build:write')]
  const strong = await keyOf(scene, 'build:write', 'pipeline:write')
  for (const revision of ['', ", revision: '${{CF_BRANCH}}'", ", revision: '${{CF_REVISION}}'", ", revision: '${{REV}}'"]) {
    await store(scene, `{location: git, repo: team/app, path: ci.yml${revision}}`)
    const input = { branch: 'main', revision: 'refs/pull/7/head', variables: { REV: 'refs/pull/7/head' } }
    for (const client of limited) await expect(startBy(client, input), revision).rejects.toMatchObject(REFUSED)
    expect((await startBy(strong, input)).status, revision).toBe('pending')
  }
  await store(scene, '{location: git, repo: team/app, path: ci.yml, revision: main}')
  for (const client of limited)
    expect(await sourceOf(scene, await startBy(client, { revision: 'refs/pull/7/head' }))).toMatchObject({ revision: 'main' })
})

test('their variables do not select the repository and path of the document, and values of the pipeline do', async () => {
  await using scene = await openHttpScene()
  const limited = [await stepKey(scene), await keyOf(scene, 'build:write')]
  const strong = await keyOf(scene, 'build:write', 'pipeline:write')
  const variables = { REPO: EVIL, PART: 'evil' }
  await store(scene, "{location: git, repo: '${{REPO}}', path: ci.yml, revision: main}")
  for (const client of limited)
    expect(await sourceOf(scene, await startBy(client, { variables }))).toMatchObject({ repo: 'team/app' })
  expect(await sourceOf(scene, await startBy(strong, { variables }))).toMatchObject({ repo: EVIL })
  await store(scene, "{location: git, repo: team/app, path: 'ci/${{PART}}.yml', revision: main}")
  for (const client of limited)
    await expect(startBy(client, { variables })).rejects.toMatchObject({
      ...REFUSED,
      hint: expect.stringContaining('Set "PART" in `spec.variables`'),
    })
})

test('their variables do not select the URL of the document', async () => {
  const asked: (string | undefined)[] = []
  const server = createServer(({ url }, response) => {
    asked.push(url)
    response.end(HELLO)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const origin = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  try {
    await using scene = await openHttpScene({ documentHosts: ['127.0.0.1'] })
    const limited = await keyOf(scene, 'build:write')
    await store(scene, `{location: url, url: '${origin}/\${{REPO}}'}`)
    expect(await startBy(limited, { variables: { REPO: 'evil' } })).toMatchObject({ status: 'pending' })
    expect(asked).toEqual(['/team/app'])
    await store(scene, `{location: url, url: '${origin}/\${{CF_BRANCH}}'}`)
    await expect(startBy(limited, { branch: 'evil' })).rejects.toMatchObject(REFUSED)
    expect(asked).toEqual(['/team/app'])
  } finally {
    server.close()
  }
})

test('a restart by such a key repeats the document, and neither it nor a later restart moves the document', async () => {
  await using scene = await openHttpScene()
  const limited = await keyOf(scene, 'build:write')
  const variables = { REPO: EVIL }
  await store(scene, "{location: git, repo: '${{REPO}}', path: ci.yml}")
  const first = await startBy(scene.admin, { branch: 'main' })
  const source = { repo: 'team/app', revision: 'main' }
  expect(await sourceOf(scene, await restartBy(limited, first.id))).toMatchObject(source)
  for (const moved of [{ branch: 'evil' }, { revision: 'refs/pull/7/head' }])
    await expect(restartBy(limited, first.id, moved)).rejects.toMatchObject(REFUSED)
  await store(scene, "{location: git, repo: '${{REPO}}', path: ci.yml, revision: v1}")
  const pinned = await startBy(scene.admin, {})
  const second = await restartBy(limited, pinned.id, { variables })
  expect(await sourceOf(scene, second)).toMatchObject({ repo: 'team/app', revision: 'v1' })
  for (const client of [limited, scene.admin])
    expect(await sourceOf(scene, await restartBy(client, second.id))).toMatchObject({ repo: 'team/app', revision: 'v1' })
})
