/** The rights of the key of steps (CF_API_KEY), tested with calls from inside a step. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Annotations, Build, Pipeline, type Client } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { WINDLASS } from '../../../../../e2e/support/programs.ts'
import { claimStart, startEngine } from '../../support/fakes/fake-agent.ts'
import { HELLO, openHttpScene, type HttpScene } from '../../support/http-scene.ts'

async function store(scene: HttpScene, name: string, more: object = {}): Promise<void> {
  await scene.admin.call('PUT', `/v1/pipelines/${encodeURIComponent(name)}`, Pipeline, {
    body: { name, document: HELLO, ...more },
  })
}

/** Starts a build of a pipeline. Returns it with a client that has the key of its steps. */
async function inside(
  scene: HttpScene,
  pipeline: string,
): Promise<{ build: Build; steps: Client; started: Awaited<ReturnType<HttpScene['start']>> }> {
  const started = await scene.start({ pipeline, document: undefined })
  return { build: started.build, steps: scene.nobody.withToken(started.engine.claimed.buildToken ?? ''), started }
}

const startBy = (client: Client, body: object): Promise<Build> => client.call('POST', '/v1/builds', Build, { body })

const REFUSED: readonly [field: string, value: unknown][] = [
  ['document', HELLO],
  ['file', 'other.yml'],
  ['contexts', ['prod']],
  ['skip', ['hello']],
  ['only', ['hello']],
  ['debug', {}],
  ['runtime', 'local'],
  ['machine', { cpu: '8' }],
  ['git', { repoName: 'app' }],
  ['restartFrom', 'failed'],
  ['annotations', { other: 'x' }],
  ['annotations', { cf_predecessor: 'f'.repeat(24) }],
]

test('a step can start a build with a pipeline, branch, revision and variables, but not change what it runs', async () => {
  await using scene = await openHttpScene()
  await store(scene, 'team/child')
  await store(scene, 'team/parent')
  const { build, steps } = await inside(scene, 'team/parent')
  for (const [field, value] of REFUSED) {
    await expect(startBy(steps, { pipeline: 'team/child', [field]: value }), field).rejects.toMatchObject({
      code: 'step-key-limited',
      status: 403,
      message: expect.stringContaining(field),
    })
  }
  await expect(startBy(steps, { restartOf: build.id })).rejects.toMatchObject({ code: 'step-key-limited' })
  await expect(startBy(steps, { document: HELLO })).rejects.toMatchObject({ code: 'step-key-limited' })
  // It would leave out a step of the other pipeline.
  await expect(startBy(steps, { pipeline: 'team/app', variables: { CF_SKIP_MAIN_CLONE: 'true' } })).rejects.toMatchObject({
    code: 'step-key-limited',
  })
  await expect(steps.text('POST', `/v1/builds/${build.id}/restart`, { body: {} })).rejects.toMatchObject({ code: 'forbidden' })

  const child = await startBy(steps, {
    pipeline: 'team/child',
    branch: 'main',
    revision: 'abc',
    trigger: 'push',
    variables: { A: '1' },
    secrets: { S: 'hush' },
    noCache: true,
    // The CLI always sends these fields.
    contexts: [],
    annotations: { cf_predecessor: build.id },
  })
  expect(child).toMatchObject({
    initiator: `build ${build.number}`,
    trigger: { kind: 'build', name: 'push' },
    parent: build.id,
    branch: 'main',
  })
})

test('a step can start pipelines of its own project, and others only if their settings or the account allow it', async () => {
  await using scene = await openHttpScene()
  for (const name of ['low/one', 'low/two', 'bare', 'high/deploy']) await store(scene, name)
  const { steps } = await inside(scene, 'low/one')
  const started = (pipeline: string): Promise<string> =>
    startBy(steps, { pipeline }).then(
      () => 'started',
      (error: { code: string }) => error.code,
    )
  expect(await started('low/two')).toBe('started')
  expect(await started('low/one')).toBe('started')
  expect(await started('bare')).toBe('pipeline-out-of-reach')
  expect(await started('high/deploy')).toBe('pipeline-out-of-reach')
  await expect(startBy(steps, { pipeline: 'high/deploy' })).rejects.toMatchObject({
    status: 403,
    message: expect.stringContaining('low/one'),
  })

  await store(scene, 'high/deploy', { settings: { startedBy: ['low/two'] } })
  expect(await started('high/deploy')).toBe('pipeline-out-of-reach')
  await store(scene, 'high/deploy', { settings: { startedBy: ['low/two', 'low/*'] } })
  expect(await started('high/deploy')).toBe('started')
  const document = `kind: pipeline\nmetadata: {name: bare}\nspec:\n  startedBy: [low/one]\n  ${HELLO.slice(HELLO.indexOf('steps')).replaceAll('\n', '\n  ')}`
  await store(scene, 'bare', { document })
  expect(await started('bare')).toBe('started')

  await store(scene, 'high/deploy')
  expect(await started('high/deploy')).toBe('pipeline-out-of-reach')
  await scene.admin.text('PUT', '/v1/settings', { body: { childBuilds: 'account' } })
  expect(await started('high/deploy')).toBe('started')
})

test('steps of an unstored document or of a pipeline without a project cannot start other pipelines', async () => {
  await using scene = await openHttpScene()
  for (const name of ['one', 'two']) await store(scene, name)
  const alone = await scene.start()
  const steps = scene.nobody.withToken(alone.engine.claimed.buildToken ?? '')
  await expect(startBy(steps, { pipeline: 'one' })).rejects.toMatchObject({ code: 'pipeline-out-of-reach' })
  const { steps: ofOne } = await inside(scene, 'one')
  await expect(startBy(ofOne, { pipeline: 'two' })).rejects.toMatchObject({ code: 'pipeline-out-of-reach' })
  expect(await startBy(ofOne, { pipeline: 'one' })).toMatchObject({ trigger: { kind: 'build' } })
})

test('a step can only terminate builds that its build started, whatever their annotations', async () => {
  await using scene = await openHttpScene()
  await store(scene, 'team/app')
  const { build, steps, started } = await inside(scene, 'team/app')
  const victim = await scene.submit()
  const child = await startBy(steps, { pipeline: 'team/app' })
  await started.engine.event({
    type: 'annotated',
    step: 'hello',
    entity: 'build',
    id: victim.id,
    kind: 'annotation',
    set: { cf_predecessor: build.id, seen: true },
    unset: [],
  })
  const path = `/v1/annotations/build/${victim.id}`
  expect((await scene.admin.call('GET', path, Annotations)).values).not.toHaveProperty('cf_predecessor')
  await expect(steps.text('POST', `/v1/builds/${victim.id}/terminate`, { body: {} })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(steps.text('POST', `/v1/builds/${build.id}/terminate`, { body: {} })).rejects.toMatchObject({ code: 'forbidden' })
  await expect(scene.admin.text('PUT', path, { body: { values: { cf_predecessor: build.id } } })).rejects.toMatchObject({
    code: 'request-invalid',
    message: expect.stringContaining('cf_predecessor'),
  })
  await expect(scene.admin.text('DELETE', `/v1/annotations/build/${child.id}/cf_predecessor`)).rejects.toMatchObject({
    code: 'request-invalid',
  })
  const shown = await scene.admin.call('GET', `/v1/builds/${child.id}`, Build)
  expect(shown).toMatchObject({ parent: build.id, annotations: { cf_predecessor: build.id } })
  await steps.text('POST', `/v1/builds/${child.id}/terminate`, { body: {} })
})

test('rejects the step key of an ended attempt, and the next attempt has another key', async () => {
  await using scene = await openHttpScene()
  await store(scene, 'team/app')
  const { build, steps, started } = await inside(scene, 'team/app')
  expect((await steps.call('GET', `/v1/builds/${build.id}`, Build)).id).toBe(build.id)
  await scene.agent.fact({ buildId: build.id, attempt: 1, state: 'lost', reason: 'node-lost' })
  await expect(steps.text('GET', `/v1/builds/${build.id}`)).rejects.toMatchObject({ code: 'unauthenticated' })
  await scene.agent.fact({ buildId: build.id, attempt: 1, state: 'gone' })
  const engine = await startEngine(scene.server.url, await claimStart(scene.agent))
  expect(engine.claimed.buildToken).not.toBe(started.engine.claimed.buildToken)
  expect((await scene.nobody.withToken(engine.claimed.buildToken ?? '').call('GET', `/v1/builds/${build.id}`, Build)).id).toBe(
    build.id,
  )
  await expect(steps.text('GET', `/v1/builds/${build.id}`)).rejects.toMatchObject({ code: 'unauthenticated' })
})

test('the key of a step can read builds and pipelines, and nothing else in the account', async () => {
  await using scene = await openHttpScene()
  const { engine, build } = await scene.start()
  const steps = scene.nobody.withToken(engine.claimed.buildToken ?? '')
  for (const path of [
    '/v1/whoami',
    '/v1/builds',
    `/v1/builds/${build.id}/feed`,
    '/v1/pipelines',
    `/v1/annotations/build/${build.id}`,
  ])
    await steps.text('GET', path)
  for (const path of [
    '/v1/contexts',
    '/v1/agents',
    '/v1/clusters',
    '/v1/settings',
    '/v1/runtimes',
    `/v1/builds/${build.id}/debug`,
    '/api/agents',
  ])
    await expect(steps.text('GET', path), path).rejects.toMatchObject({ code: 'forbidden' })
  await expect(steps.text('POST', '/v1/validate', { body: { document: HELLO } })).rejects.toMatchObject({ code: 'forbidden' })
})

test('the commands of codefresh-run work with the key of a step (P171)', async () => {
  await using scene = await openHttpScene()
  for (const name of ['team/child', 'team/parent', 'other/app']) await store(scene, name)
  const { build, started } = await inside(scene, 'team/parent')
  const windlass = async (...args: string[]): Promise<{ code: number | null; stdout: string; stderr: string }> => {
    const { WINDLASS_API_KEY: _key, ...inherited } = process.env
    const env = {
      ...inherited,
      WINDLASS_CONFIG: join(scene.dataDir, 'none.yaml'),
      WINDLASS_URL: scene.server.url,
      CF_BUILD_ID: build.id,
      CF_API_KEY: started.engine.claimed.buildToken,
    }
    const child = spawn(WINDLASS, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
    const [stdout, stderr] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { code: child.exitCode, stdout, stderr }
  }
  const about = ['--trigger', 'push', '--branch', 'main', '--sha', 'abc']
  const switches = ['--no-cache', '--no-cf-cache', '--reset-volume', '--enable-notifications']
  const run = await windlass('run', 'team/child', '--detach', ...about, ...switches, '-v', 'A=1', '-S', 'B=hush')
  expect(run).toMatchObject({ code: 0, stderr: '' })
  const id = run.stdout.trim()
  const waiting = windlass('wait', id, '--timeout', '60')
  const following = windlass('logs', '-f', id)
  for (const task of await scene.agent.claim()) {
    if (task.kind !== 'start-attempt') continue
    const engine = await startEngine(scene.server.url, task)
    await engine.succeed()
  }
  expect((await waiting).code).toBe(0)
  expect((await following).stdout).toContain('output of hello')
  expect((await scene.admin.call('GET', `/v1/builds/${id}`, Build)).parent).toBe(build.id)
  const second = (await windlass('run', 'team/child', '--detach')).stdout.trim()
  expect((await windlass('terminate', second)).code).toBe(0)

  const skipping = await windlass('run', 'team/child', '--detach', '--skip', 'hello')
  expect(skipping).toMatchObject({ code: 4, stderr: expect.stringContaining('skip') })
  const far = await windlass('run', 'other/app', '--detach')
  expect(far).toMatchObject({ code: 4, stderr: expect.stringContaining('startedBy') })
})
