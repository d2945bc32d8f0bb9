import {
  AccountSettings,
  ApiKeyCreated,
  Build,
  Context,
  EngineDocumentAnswer,
  Pipeline,
  Validation,
  type Client,
  type Scope,
} from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const STEPS = "version: '1.0'\nsteps:\n  test: { image: alpine }\n"
const BUILD = "version: '1.0'\nsteps:\n  app: { type: build, image_name: app, disable_push: true }\n"
const EVENT = { repoOwner: 'team', repoName: 'app' }

async function store(
  scene: HttpScene,
  { document = STEPS, ...mainClone }: { document?: string; automatic?: boolean; repo?: string },
): Promise<Pipeline> {
  return scene.admin.call('PUT', '/v1/pipelines/demo%2Fapp', Pipeline, {
    body: { name: 'demo/app', document, settings: { mainClone } },
  })
}

/** `owner/name` needs a git integration. */
async function addForge(scene: HttpScene): Promise<void> {
  await scene.admin.call('PUT', '/v1/contexts/work', Context, {
    body: { name: 'work', type: 'git', data: { url: 'http://127.0.0.1:1' } },
  })
}

async function keyOf(scene: HttpScene, ...scopes: Scope[]): Promise<Client> {
  const body = { name: scopes.join('-').replaceAll(':', '-'), role: 'developer', scopes }
  return scene.nobody.withToken((await scene.admin.call('POST', '/v1/keys', ApiKeyCreated, { body })).token)
}

const startBy = (client: Client, input: object): Promise<Build> =>
  client.call('POST', '/v1/builds', Build, { body: { pipeline: 'demo/app', ...input } })

/** Returns the repository of the automatic clone of a build. */
async function cloneOf({ server }: HttpScene, { id }: Build): Promise<unknown> {
  const { query } = server.app.store
  const row = await query.selectFrom('build_plan').select('plan').where('build_id', '=', id).executeTakeFirstOrThrow()
  const { steps } = JSON.parse(row.plan ?? '{"steps":[]}')
  return steps.find(({ name }: { name: string }) => name === 'main_clone')?.action.repo
}

async function stepsOf(scene: HttpScene, input: object): Promise<readonly [string, unknown][]> {
  const { engine } = await scene.start({ pipeline: 'demo/app', document: undefined, ...input })
  const { steps } = engine.claimed.plan
  await engine.succeed()
  for (const task of await scene.agent.claim()) await scene.agent.report(task, 'done')
  return steps.map(({ name, action }) => [name, action.kind === 'git-clone' ? [action.repo, action.revision] : action.kind])
}

const setAccount = (scene: HttpScene, automaticClone: boolean): Promise<AccountSettings> =>
  scene.admin.call('PUT', '/v1/settings', AccountSettings, { body: { automaticClone } })

test('for a key without limits, the automatic clone takes the repository of the event, or that of the pipeline for other builds', async () => {
  await using scene = await openHttpScene()
  await addForge(scene)
  await store(scene, { automatic: true, repo: 'team/default' })
  expect(await stepsOf(scene, { git: EVENT, branch: 'main', revision: 'abc' })).toEqual([
    ['main_clone', ['team/app', '${{CF_REVISION}}']],
    ['test', 'freestyle'],
  ])
  expect(await stepsOf(scene, { branch: 'main' })).toEqual([
    ['main_clone', ['team/default', '${{CF_BRANCH}}']],
    ['test', 'freestyle'],
  ])
  expect(await stepsOf(scene, {})).toEqual([
    ['main_clone', ['team/default', undefined]],
    ['test', 'freestyle'],
  ])
})

test('a key that may only start builds does not choose the repository of the automatic clone', async () => {
  await using scene = await openHttpScene()
  await addForge(scene)
  const limited = await keyOf(scene, 'build:write')
  const strong = await keyOf(scene, 'build:write', 'pipeline:write')
  const refused = { code: 'scope-missing', status: 403, message: expect.stringContaining('pipeline:write') }
  const git = { repoOwner: 'evil', repoName: 'app' }
  await store(scene, { automatic: true, repo: 'team/default' })
  expect(await cloneOf(scene, await startBy(limited, { git }))).toBe('team/default')
  expect(await cloneOf(scene, await startBy(strong, { git }))).toBe('evil/app')
  await store(scene, { automatic: true })
  await expect(startBy(limited, { git })).rejects.toMatchObject(refused)
  expect(await cloneOf(scene, await startBy(strong, { git }))).toBe('evil/app')
  // The account turns it on, too.
  await store(scene, {})
  expect(await cloneOf(scene, await startBy(limited, { git }))).toBeUndefined()
  await setAccount(scene, true)
  await expect(startBy(limited, { git })).rejects.toMatchObject(refused)
  // Without a clone to choose, the facts of an event are allowed.
  for (const input of [{}, { git: { prTitle: 'a' } }, { git, variables: { CF_SKIP_MAIN_CLONE: 'true' } }])
    expect(await cloneOf(scene, await startBy(limited, input)), JSON.stringify(input)).toBeUndefined()
  await store(scene, { document: `${STEPS}  main_clone: { type: git-clone, repo: team/own }\n` })
  expect(await cloneOf(scene, await startBy(limited, { git }))).toBe('team/own')
})

test('a restart does not choose the repository that a key that may only start builds named', async () => {
  await using scene = await openHttpScene()
  await addForge(scene)
  const limited = await keyOf(scene, 'build:write')
  const git = { repoOwner: 'evil', repoName: 'app' }
  // A build with errors records no clone.
  await store(scene, { document: STEPS.replace('image', 'color'), automatic: true })
  const { id, status } = await startBy(limited, { git })
  expect(status).toBe('error')
  const { query } = scene.server.app.store
  await query.updateTable('build_plan').set({ document: STEPS }).where('build_id', '=', id).execute()
  const restart = (more: object): Promise<Build> => scene.submit({ restartOf: id, document: undefined, ...more })
  expect(await cloneOf(scene, await restart({}))).toBeUndefined()
  expect(await cloneOf(scene, await restart({ git: EVENT }))).toBe('team/app')
  const refused = startBy(limited, { pipeline: undefined, restartOf: id, git })
  await expect(refused).rejects.toMatchObject({ code: 'scope-missing' })
  await store(scene, { automatic: true, repo: 'team/default' })
  expect(await cloneOf(scene, await restart({}))).toBe('team/default')
})

test('CF_SKIP_MAIN_CLONE turns it off for a build, and so does the lack of a repository', async () => {
  await using scene = await openHttpScene()
  await addForge(scene)
  await store(scene, { automatic: true })
  const names = async (input: object): Promise<string[]> => (await stepsOf(scene, input)).map(([name]) => name)
  expect(await names({ git: EVENT })).toEqual(['main_clone', 'test'])
  expect(await names({ git: EVENT, variables: { CF_SKIP_MAIN_CLONE: 'true' } })).toEqual(['test'])
  expect(await names({ git: EVENT, variables: { CF_SKIP_MAIN_CLONE: 'false' } })).toEqual(['main_clone', 'test'])
  expect(await names({})).toEqual(['test'])
})

test('the account decides for pipelines that do not, and validation agrees with it', async () => {
  await using scene = await openHttpScene()
  await addForge(scene)
  const validate = async (document: string): Promise<(string | undefined)[]> => {
    const { problems } = await scene.admin.call('POST', '/v1/validate', Validation, { body: { document } })
    return problems.map(({ code }) => code)
  }
  expect(await validate(BUILD)).toEqual(['no-source'])
  await store(scene, {})
  expect(await stepsOf(scene, { git: EVENT })).toHaveLength(1)
  await setAccount(scene, true)
  expect(await validate(BUILD)).toEqual([])
  expect(
    await validate(
      `kind: pipeline\nmetadata: {name: a/b}\nspec:\n  mainClone: {automatic: false}\n  ${BUILD.slice(15).replaceAll('\n', '\n  ')}`,
    ),
  ).toEqual(['no-source'])
  expect(await stepsOf(scene, { git: EVENT })).toHaveLength(2)
  await store(scene, { automatic: false })
  expect(await stepsOf(scene, { git: EVENT })).toHaveLength(1)
  const codes = async (automatic: boolean): Promise<(string | undefined)[]> =>
    ((await store(scene, { document: BUILD, automatic })).problems ?? []).map(({ code }) => code)
  expect(await codes(true)).not.toContain('no-source')
  expect(await codes(false)).toContain('no-source')
})

test('a document that the engine fetches gets the clone that the build was created with, and so does a restart', async () => {
  await using scene = await openHttpScene()
  const document =
    'kind: pipeline\nmetadata: {name: demo/app}\nspec:\n  specTemplate: {location: git, repo: team/app, path: p.yml, context: work}\n  mainClone: {automatic: true}\n'
  await addForge(scene)
  await store(scene, { document })
  const { build, engine } = await scene.start({ pipeline: 'demo/app', document: undefined, branch: 'main' })
  await store(scene, { document: document.replace('true', 'false') })
  const { plan } = await engine.client.call('POST', '/v1/engine/document', EngineDocumentAnswer, { body: { text: STEPS } })
  expect(plan?.steps.map(({ name }) => name)).toEqual(['main_clone', 'test'])
  expect(plan?.steps[0]?.action).toMatchObject({ repo: 'team/app', revision: '${{CF_BRANCH}}', git: 'work' })
  await engine.finish({ status: 'success' })
  for (const task of await scene.agent.claim()) await scene.agent.report(task, 'done')
  const again = await scene.start({ restartOf: build.id, document: undefined })
  expect(again.engine.claimed.plan.steps.map(({ name }) => name)).toEqual(['main_clone', 'test'])
  const shown = await scene.admin.call('GET', `/v1/builds/${again.build.id}`, Build)
  expect(shown.steps?.map(({ name }) => name)).toEqual(['main_clone', 'test'])
})

test('variables and odd events do not select the repository, because steps of other pipelines can set them', async () => {
  await using scene = await openHttpScene()
  await addForge(scene)
  await store(scene, { automatic: true, repo: 'team/default' })
  const repoOf = async (input: object): Promise<unknown> => (await stepsOf(scene, input))[0]?.[1]
  expect(await repoOf({ variables: { CF_REPO_OWNER: 'https://evil.test/x', CF_REPO_NAME: 'y' } })).toEqual([
    'team/default',
    undefined,
  ])
  for (const repoOwner of ['https://evil.test/x', 'git@evil.test:x', 'file:///etc', '../../..', '-x', '${{TOKEN}}'])
    expect(await repoOf({ git: { repoOwner, repoName: 'y' } }), repoOwner).toEqual(['team/default', undefined])
  expect(await repoOf({ git: { repoOwner: 'group/sub', repoName: 'y' } })).toEqual(['group/sub/y', undefined])
})

test('a restart clones the commit that it asks for, and a variable of the restart turns the clone off', async () => {
  await using scene = await openHttpScene()
  await addForge(scene)
  await store(scene, { automatic: true })
  const { build, engine } = await scene.start({ pipeline: 'demo/app', document: undefined, git: EVENT, revision: 'abc' })
  expect(engine.claimed.plan.steps[0]?.action).toMatchObject({ revision: '${{CF_REVISION}}' })
  await engine.succeed()
  for (const task of await scene.agent.claim()) await scene.agent.report(task, 'done')
  const again = (input: object): Promise<readonly [string, unknown][]> =>
    stepsOf(scene, { pipeline: undefined, restartOf: build.id, ...input })
  expect(await again({ branch: 'fix' })).toEqual([
    ['main_clone', ['team/app', '${{CF_BRANCH}}']],
    ['test', 'freestyle'],
  ])
  expect(await again({ revision: 'def' })).toEqual([
    ['main_clone', ['team/app', '${{CF_REVISION}}']],
    ['test', 'freestyle'],
  ])
  expect(await again({ variables: { CF_SKIP_MAIN_CLONE: 'true' } })).toEqual([['test', 'freestyle']])
})
