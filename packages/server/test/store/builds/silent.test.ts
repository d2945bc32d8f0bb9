/** Engines that run but never call: the reported reason, and when their attempts are lost. */
import { RuntimeInput, type Task } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { putRuntime } from '../../../src/runtimes/runtimes.ts'
import { listShownRuntimes } from '../../../src/runtimes/show-runtimes.ts'
import { pollTasks } from '../../../src/tasks/protocol-v1.ts'
import { takeStatus } from '../../../src/tasks/protocol-v1-reports.ts'
import { extendLease } from '../../../src/tasks/report.ts'
import { fillPools } from '../../../src/warm/fill.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'
import {
  ended,
  openScene,
  PROTOCOL,
  report,
  runAttempt,
  say,
  type Scene,
  show,
  startAttempt,
  started,
  submit,
  sweep,
  take,
  tell,
} from '../../support/scene.ts'

const never = new AbortController().signal
const SECOND = 1000
const SILENT_TIMEOUT = 180 * SECOND

/** Reports the pod of an engine as running. */
async function seeRunning(scene: Scene, buildId: string, attempt = 1): Promise<void> {
  await tell(scene, { buildId, attempt, state: 'running', object: `engine-${buildId}` })
}

async function causeOf(held: TestApp, { id }: { id: string }): Promise<unknown[]> {
  const { status, reason } = await show(held.app, id)
  return [status, reason]
}

async function pass(held: TestApp, ms: number): Promise<void> {
  held.clock.advance(ms)
  await sweep(held.app, true)
}

describe.each(DATABASES)('engines that do not call, on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  /** Opens a scene with a build whose engine runs. */
  async function openSilent(spec: object = {}): Promise<{ held: TestApp; scene: Scene; build: { id: string } }> {
    const held = await openTestApp(database)
    const scene = await openScene(held.app, spec)
    const build = await submit(scene)
    await startAttempt(scene, build)
    await seeRunning(scene, build.id)
    return { held, scene, build }
  }

  test('shows the address after 15 s and requests the pod log from the agent', async () => {
    const { held, scene, build } = await openSilent()
    await using _ = held
    await pass(held, 14 * SECOND)
    expect(await causeOf(held, build)).toEqual(['elected', undefined])
    await pass(held, 2 * SECOND)
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'elected',
      reason: 'engine-silent',
      message: `The engine pod engine-${build.id} runs but has not called http://server.test.`,
      hint: expect.stringContaining(`logs engine-${build.id}`),
    })
    const { silent } = await extendLease(held.app, scene.agentId, { epoch: scene.epoch, tasks: [] })
    expect(silent).toEqual([{ buildId: build.id, attempt: 1, runtime: 'local' }])
    const logText = 'The server at http://server.test cannot be reached: connection refused.'
    const fact = { buildId: build.id, attempt: 1, state: 'waiting', reason: 'engine-silent' } as const
    await tell(scene, { ...fact, object: `engine-${build.id}/log`, message: logText })
    expect((await show(held.app, build.id)).message).toContain(`Its log ends:\n${logText}`)
    // Facts about the pods do not clear the reason.
    await seeRunning(scene, build.id)
    await tell(scene, { buildId: build.id, attempt: 1, state: 'running', object: `dind-${build.id}` })
    await pass(held, 5 * SECOND)
    expect((await show(held.app, build.id)).message).toContain(logText)
  })

  test('runs the build of an engine that calls late, and clears the reason', async () => {
    const { held, build } = await openSilent()
    await using _ = held
    await pass(held, 100 * SECOND)
    await claimAttempt(held.app, { buildId: build.id, attempt: 1 }, { ...PROTOCOL, claimKey: 'key-of-a-late-engine' })
    expect(await causeOf(held, build)).toEqual(['running', undefined])
  })

  test('ends the attempt after three minutes and retries once; the second silent attempt ends the build', async () => {
    const { held, scene, build } = await openSilent()
    await using _ = held
    await pass(held, SILENT_TIMEOUT - SECOND)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'elected', reason: 'engine-silent' })
    await pass(held, 2 * SECOND)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
    for (const task of await take(scene)) await report(scene, task, 'done')
    await startAttempt(scene, build)
    await seeRunning(scene, build.id, 2)
    await pass(held, SILENT_TIMEOUT + SECOND)
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'error',
      reason: 'engine-silent',
      message: expect.stringContaining('has not called http://server.test'),
      hint: expect.stringContaining('kubectl'),
    })
  })

  test('does not count time in which the server was down', async () => {
    const { held, build } = await openSilent()
    await using _ = held
    held.clock.advance(SILENT_TIMEOUT * 2)
    held.app.hearing.since = held.clock.now()
    await sweep(held.app, false)
    expect(await causeOf(held, build)).toEqual(['elected', undefined])
    await pass(held, SILENT_TIMEOUT - SECOND)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'elected', reason: 'engine-silent' })
    await pass(held, 2 * SECOND)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
  })

  test('does not report an engine as silent before its pod runs', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const build = await submit(scene)
    await startAttempt(scene, build)
    await tell(scene, { buildId: build.id, attempt: 1, state: 'running', object: `dind-${build.id}` })
    await pass(held, SILENT_TIMEOUT + SECOND)
    expect(await causeOf(held, build)).toEqual(['elected', undefined])
  })

  test('with protocol v1, says that the agent does not report pods and ends the build after its start timeout', async () => {
    await using held = await openTestApp(database)
    const limits = { MAXIMUM_ELECTED_STATE_AGE_ALLOWED: 600 }
    const scene = await openScene(held.app, { runtimeScheduler: { workflowLimits: limits } })
    const poll = { reports: true, serverUrl: 'http://10.0.0.9:7400', waitMs: 0, signal: never }
    await pollTasks(held.app, { id: scene.agentId }, poll)
    const build = await submit(scene)
    await elect(held.app)
    for (const task of await pollTasks(held.app, { id: scene.agentId }, poll))
      await takeStatus(held.app, scene.agentId, task._id, { status: 'Success', statusRevision: 1, isRetriable: false })
    await pass(held, 16 * SECOND)
    const message = `The engine pod engine-${build.id} was created but has not called http://10.0.0.9:7400. Its agent does not report whether it runs.`
    expect(await show(held.app, build.id)).toMatchObject({ status: 'elected', reason: 'engine-silent', message })
    await pass(held, 500 * SECOND)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'elected', reason: 'engine-silent' })
    await pass(held, 100 * SECOND)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'error', reason: 'engine-silent', message })
  })

  test('replaces a warm pair whose engine never calls, and shows the problem at the runtime', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const spec = { warmPool: { min: 1, max: 1 } }
    const input = RuntimeInput.parse({ name: 'local', type: 'kubernetes', agent: 'agent', isDefault: true, spec })
    await putRuntime(held.app, { name: 'local', input, changedBy: 'tester' })
    const key = await runAttempt(scene, await submit(scene))
    await say(held.app, key, started, ended('success'))
    for (const task of await take(scene)) await report(scene, task, 'done')
    const first = await pairOf(scene)
    await seeRunning(scene, first.buildId)
    held.clock.advance(SILENT_TIMEOUT + SECOND)
    // The agent calls again.
    await take(scene)
    const second = await pairOf(scene)
    expect(second.buildId).not.toBe(first.buildId)
    const [runtime] = await listShownRuntimes(held.app)
    expect(runtime?.warm).toMatchObject({ problem: 'Its engine runs but has not called http://server.test.' })
  })

  async function pairOf(scene: Scene): Promise<Task> {
    await fillPools(scene.app, true)
    const [task] = (await take(scene)).filter(({ kind }) => kind === 'start-attempt')
    if (task === undefined) throw new Error('no pair is made')
    return task
  }
})
