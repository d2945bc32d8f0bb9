/** A cluster that loses its connection to running servers: neither its agent nor its engines can call. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { heartbeat } from '../../../src/builds/engine/engine-link.ts'
import { confirmAttempt } from '../../../src/builds/lifecycle/ends/confirm-gone.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { sweep } from '../../../src/builds/lifecycle/ends/sweep.ts'
import { claim } from '../../../src/tasks/claim.ts'
import { openScene, runAttempt, show, startAttempt, submit, type Scene } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'
import type { AttemptKey } from '../../../src/store/builds/attempts.ts'

const SECOND = 1000
const never = new AbortController().signal

async function callOfAgent({ app, agentId, epoch }: Scene): Promise<void> {
  await claim(app, agentId, { epoch, room: 0, waitMs: 0 }, never)
}

/**
 * Advances the clock with one sweep per second; the given agent and engines call every ten seconds. On PostgreSQL, where sweeps take longer and judge the same
 * rows, with one sweep per five seconds.
 */
async function pass(
  { app, clock }: TestApp,
  seconds: number,
  heard: { agent?: Scene; engines?: readonly AttemptKey[] } = {},
): Promise<void> {
  const step = app.store.name === 'sqlite' ? 1 : 5
  for (let second = 0; second < seconds; second += step) {
    if (second % 10 === 0 && heard.agent !== undefined) await callOfAgent(heard.agent)
    if (second % 10 === 0) for (const key of heard.engines ?? []) await heartbeat(app, key)
    clock.advance(Math.min(step, seconds - second) * SECOND)
    await sweep(app, true)
  }
}

describe.each(DATABASES)('a disconnected cluster, on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  async function openRunning(): Promise<{ held: TestApp; scene: Scene; key: AttemptKey }> {
    const held = await openTestApp(database)
    const scene = await openScene(held.app)
    return { held, scene, key: await runAttempt(scene, await submit(scene)) }
  }

  test('keeps its attempts, which continue when it reconnects', async () => {
    const { held, scene, key } = await openRunning()
    await using _ = held
    await pass(held, 30, { agent: scene, engines: [key] })
    await pass(held, 600)
    // The agent reconnects first, because the engine waits up to ten seconds before it retries.
    await pass(held, 10, { agent: scene })
    await pass(held, 60, { agent: scene, engines: [key] })
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'running', attempt: 1, retries: 0 })
  })

  test('loses an attempt if its engine stays silent after the agent has reconnected', async () => {
    const { held, scene, key } = await openRunning()
    await using _ = held
    await pass(held, 200)
    await pass(held, 40, { agent: scene })
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'running', attempt: 1 })
    await pass(held, 10, { agent: scene })
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
  })

  test('does not protect an engine that falls silent while its agent calls: it is lost after 45 s', async () => {
    const { held, scene, key } = await openRunning()
    await using _ = held
    await pass(held, 31, { agent: scene, engines: [key] })
    await pass(held, 40, { agent: scene })
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'running' })
    await pass(held, 20, { agent: scene })
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
  })

  test('does not count a held call as a sign of life of the agent', async () => {
    const { held, scene, key } = await openRunning()
    await using _ = held
    const stop = new AbortController()
    const hanging = claim(held.app, scene.agentId, { epoch: scene.epoch, room: 0, waitMs: 30_000 }, stop.signal)
    await pass(held, 90)
    await hanging
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'running', attempt: 1 })
  })

  test('does not count as inactivity, and an admin can give up its attempts', async () => {
    const held = await openTestApp(database)
    await using _ = held
    const scene = await openScene(held.app, { limits: { inactiveMs: 120_000 } })
    const key = await runAttempt(scene, await submit(scene))
    await pass(held, 40)
    await expect(confirmAttempt(held.app, { ...key, by: 'ann' })).rejects.toMatchObject({ code: 'conflict' })
    await pass(held, 300)
    await pass(held, 30, { agent: scene, engines: [key] })
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'running', attempt: 1 })
    await pass(held, 100)
    await confirmAttempt(held.app, { ...key, by: 'ann' })
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'pending', attempt: 1 })
    await expect(heartbeat(held.app, key)).rejects.toMatchObject({ code: 'attempt-stale' })
  })

  test('keeps an attempt whose engine has not called yet, once its agent has the task', async () => {
    const held = await openTestApp(database)
    await using _ = held
    const scene = await openScene(held.app, { limits: { electedMs: 60_000 } })
    const taken = await submit(scene)
    await startAttempt(scene, taken)
    const waiting = await submit(scene)
    await elect(held.app)
    await pass(held, 300)
    expect(await show(held.app, taken.id)).toMatchObject({ status: 'elected', attempt: 1 })
    expect(await show(held.app, waiting.id), 'no agent has its task').toMatchObject({ status: 'error', reason: 'start-timeout' })
    await pass(held, 50, { agent: scene })
    expect(await show(held.app, taken.id)).toMatchObject({ status: 'elected' })
    await pass(held, 20, { agent: scene })
    expect(await show(held.app, taken.id)).toMatchObject({ status: 'error', reason: 'start-timeout' })
  })
})
