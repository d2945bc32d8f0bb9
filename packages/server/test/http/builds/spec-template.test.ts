import { createServer } from 'node:http'
import { Build, EngineDocumentAnswer, Pipeline } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const STEPS = "version: '1.0'\nsteps:\n  far:\n    image: alpine\n    commands: [echo far]\n"

function pipeline(template: string): string {
  return `kind: pipeline\nmetadata: {name: demo/app}\nspec:\n  variables: [{key: WHERE, value: v2}]\n  specTemplate: ${template}\n`
}

async function store(scene: HttpScene, template: string): Promise<void> {
  await scene.admin.call('PUT', '/v1/pipelines/demo%2Fapp', Pipeline, {
    body: { name: 'demo/app', document: pipeline(template) },
  })
}

const run = (scene: HttpScene, input: object = {}): Promise<Build> =>
  scene.admin.call('POST', '/v1/builds', Build, { body: { pipeline: 'demo/app', ...input } })

test('fetches steps at a URL when the build is created, and a restart uses the same text (P164)', async () => {
  let text = STEPS
  const server = createServer((request, response) =>
    request.url === '/v2.yml' ? response.end(text) : response.writeHead(404).end(),
  )
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  try {
    await using scene = await openHttpScene({ documentHosts: ['127.0.0.1'] })
    await store(scene, `{location: url, url: 'http://127.0.0.1:${port}/\${{WHERE}}.yml'}`)
    const { build, engine } = await scene.start({ pipeline: 'demo/app', document: undefined })
    expect(engine.claimed.plan.steps.map(({ name }) => name)).toEqual(['far'])
    await engine.succeed()
    for (const task of await scene.agent.claim()) await scene.agent.report(task, 'done')
    text = STEPS.replace('far', 'other')
    const again = await scene.start({ restartOf: build.id, document: undefined })
    expect(again.engine.claimed.plan.steps.map(({ name }) => name)).toEqual(['far'])
    const gone = await run(scene, { variables: { WHERE: 'gone' } })
    expect(gone).toMatchObject({ status: 'error', reason: 'invalid-pipeline', message: expect.stringContaining('answered 404') })
    text = 'version: 1.0\nsteps: 5\n'
    expect(await run(scene)).toMatchObject({ status: 'error', message: expect.stringContaining('"steps" must be an object') })
  } finally {
    server.close()
  }
})

test('fetches from private addresses only if a setting allows their network, and errors do not reveal hosts (P164)', async () => {
  const server = createServer((request, response) => response.end(request.url === '/steps.yml' ? STEPS : ''))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  const open = typeof address === 'object' && address !== null ? address.port : 0
  const outcomeOf = async (scene: HttpScene, host: string, port: number): Promise<string> => {
    await store(scene, `{location: url, url: 'http://${host}:${port}/steps.yml'}`)
    const { message = '', status } = await run(scene)
    return `${status}: ${message.replaceAll(`${host}:${port}`, 'HOST').replaceAll(host, 'HOST')}`
  }
  try {
    await using scene = await openHttpScene()
    for (const host of ['127.0.0.1', 'localhost', '10.0.0.7', '168.63.129.16', '[::ffff:127.0.0.1]', '[fd00:ec2::254]'])
      expect(await outcomeOf(scene, host, open), host).toBe(await outcomeOf(scene, host, 1))
    await using free = await openHttpScene({ outboundNetworks: ['127.0.0.0/8'] })
    expect(await outcomeOf(free, '127.0.0.1', open)).toMatch(/^pending/)
  } finally {
    server.close()
  }
})

test('does not fetch from a loopback or metadata address (P164)', async () => {
  await using scene = await openHttpScene()
  await store(scene, `{url: 'http://169.254.169.254/latest/meta-data'}`)
  expect(await run(scene)).toMatchObject({ status: 'error', message: expect.stringContaining('169.254.169.254 is not allowed') })
})

test('the engine fetches steps from a repository, and the build stores them (P164)', async () => {
  await using scene = await openHttpScene()
  await store(scene, `{location: git, repo: team/app, path: ci/build.yml, context: work}`)
  await expect(run(scene)).rejects.toMatchObject({
    code: 'request-invalid',
    message: expect.stringContaining('must name a branch or a commit'),
  })
  const { build, engine } = await scene.start({ pipeline: 'demo/app', document: undefined, branch: 'feature' })
  expect(engine.claimed.plan).toMatchObject({
    steps: [],
    source: { location: 'git', repo: 'team/app', path: 'ci/build.yml', revision: 'feature', git: 'work' },
  })
  const send = (text: string): Promise<EngineDocumentAnswer> =>
    engine.client.call('POST', '/v1/engine/document', EngineDocumentAnswer, { body: { text } })
  const { plan } = await send(STEPS)
  expect(plan?.steps.map(({ name }) => name)).toEqual(['far'])
  expect(await send('nonsense')).toEqual({ plan })
  const shown = await scene.admin.call('GET', `/v1/builds/${build.id}`, Build)
  expect(shown.steps?.map(({ name }) => name)).toEqual(['far'])
  const variables = plan?.variables.find(({ level }) => level === 'pipeline')?.variables
  expect(variables).toMatchObject({ WHERE: { value: 'v2' } })
  await engine.finish({ status: 'success' })
  for (const task of await scene.agent.claim()) await scene.agent.report(task, 'done')
  const again = await scene.start({ restartOf: build.id, document: undefined })
  expect(again.engine.claimed.plan.steps.map(({ name }) => name)).toEqual(['far'])
  expect(again.engine.claimed.plan.source).toBeUndefined()
})

test('a pinned revision may be a variable, and a document with errors ends the build with their positions (P164)', async () => {
  await using scene = await openHttpScene()
  await store(scene, `{location: git, repo: team/app, path: ci/build.yml, revision: '\${{WHERE}}'}`)
  const { build, engine } = await scene.start({ pipeline: 'demo/app', document: undefined })
  expect(engine.claimed.plan.source).toMatchObject({ revision: 'v2' })
  const answer = await engine.client.call('POST', '/v1/engine/document', EngineDocumentAnswer, {
    body: { text: "version: '1.0'\nsteps:\n  a: {image: 5}\n" },
  })
  expect(answer.plan).toBeUndefined()
  expect(answer.message).toMatch(/^ci\/build\.yml:3:14 "image" must be a string/)
  await engine.finish({ status: 'error', reason: 'invalid-pipeline', message: answer.message ?? '' })
  const shown = await scene.admin.call('GET', `/v1/builds/${build.id}`, Build)
  expect(shown).toMatchObject({ status: 'error', reason: 'invalid-pipeline', problems: [{ line: 3 }] })
})
