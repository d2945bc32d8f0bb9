/** The next attempt of a build starts only when nothing of the previous one is left, regardless of who confirms it. */
import { PipelineInput } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { removeAgent } from '../../../src/agents/agents.ts'
import type { App } from '../../../src/app.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { confirmAttempt } from '../../../src/builds/lifecycle/ends/confirm-gone.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { removeRuntime } from '../../../src/runtimes/runtimes.ts'
import { LIVE_ATTEMPT_STATUSES } from '../../../src/store/builds/attempts.ts'
import { greetAgent } from '../../../src/tasks/hello.ts'
import { HELLO, openScene, PROTOCOL, report, runAttempt, show, submit, take, tell, type Scene } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

async function lose(scene: Scene, key: { buildId: string; attempt: number }): Promise<void> {
  await tell(scene, { ...key, state: 'lost', reason: 'node-lost', message: 'the node is gone' })
}

async function liveAttempts({ store }: App): Promise<number[]> {
  const rows = await store.query.selectFrom('attempt').select('number').where('status', 'in', LIVE_ATTEMPT_STATUSES).execute()
  return rows.map(({ number }) => number)
}

describe.each(DATABASES)('attempts that are gone, on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('does not start another attempt when a late confirmation for an older one arrives', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const build = await submit(scene)
    await lose(scene, await runAttempt(scene, build))
    for (const task of await take(scene)) await report(scene, task, 'done')
    const second = await runAttempt(scene, build)
    // Objects of the first attempt reappear, and the second attempt is lost while they are removed.
    const { instance } = scene
    await greetAgent(held.app, scene.agentId, {
      ...PROTOCOL,
      executor: 'fake',
      instance,
      attempts: [{ buildId: build.id, attempt: 1 }],
    })
    await lose(scene, second)
    const stops = await take(scene)
    expect(stops.map(({ kind, attempt }) => `${kind} ${attempt}`).toSorted()).toEqual(['stop-attempt 1', 'stop-attempt 2'])
    const [ofFirst, ofSecond] = stops.toSorted((a, b) => a.attempt - b.attempt)
    if (ofFirst === undefined || ofSecond === undefined) throw new Error('no stop tasks')
    await report(scene, ofFirst, 'done')
    await elect(held.app)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'pending', reason: 'retry-pending', attempt: 2 })
    expect(await liveAttempts(held.app)).toEqual([2])
    await report(scene, ofSecond, 'done')
    await elect(held.app)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'elected', attempt: 3 })
    expect(await liveAttempts(held.app)).toEqual([3])
  })

  test('accepts the confirmation of an admin for a lost attempt, but not for one that may run', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    const call = { ...key, by: 'ann' }
    await expect(confirmAttempt(app, call)).rejects.toMatchObject({ code: 'conflict' })
    await expect(confirmAttempt(app, { ...call, attempt: 7 })).rejects.toMatchObject({ code: 'not-found' })
    await expect(confirmAttempt(app, { ...call, buildId: 'a'.repeat(24) })).rejects.toMatchObject({ code: 'not-found' })
    await lose(scene, key)
    expect(await show(app, build.id)).toMatchObject({
      reason: 'retry-pending',
      hint: expect.stringContaining('windlass confirm-gone'),
    })
    await confirmAttempt(app, call)
    await confirmAttempt(app, call)
    await elect(app)
    expect(await show(app, build.id)).toMatchObject({ status: 'elected', attempt: 2 })
    const tasks = await take(scene)
    expect(tasks.map(({ kind, attempt }) => `${kind} ${attempt}`)).toEqual(['start-attempt 2'])
    // The cluster is reachable after all, so what it still has is removed.
    const { instance } = scene
    await greetAgent(app, scene.agentId, {
      ...PROTOCOL,
      executor: 'fake',
      instance,
      attempts: [{ buildId: build.id, attempt: 1 }],
    })
    expect((await take(scene)).map(({ kind, attempt }) => `${kind} ${attempt}`)).toEqual(['stop-attempt 1'])
  })

  test('ends the attempts of an agent that is removed by force and frees their pipeline', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await putPipeline(app, { input: PipelineInput.parse({ name: 'p/one', document: HELLO }), precondition: {} })
    const lost = await submit(scene, { document: undefined, pipeline: 'p/one' })
    const running = await submit(scene, { document: undefined, pipeline: 'p/one' })
    const builds = [lost, running]
    const key = await runAttempt(scene, lost)
    await claimAttempt(app, { buildId: running.id, attempt: 1 }, { ...PROTOCOL, claimKey: 'a-key-of-another-engine' })
    await lose(scene, key)
    expect(await liveAttempts(app)).toHaveLength(2)
    await removeAgent(app, 'agent', { force: true, by: 'ann' })
    expect(await liveAttempts(app)).toEqual([])
    for (const { id } of builds) expect(await show(app, id)).toMatchObject({ status: 'pending', attempt: 1 })
    await elect(app)
    expect(await show(app, lost.id)).toMatchObject({ reason: 'agent-offline' })
  })

  test('removes a runtime by force after a lost attempt, but not while one runs', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    await expect(removeRuntime(app, 'local', { force: true, by: 'ann' })).rejects.toMatchObject({ code: 'conflict' })
    await lose(scene, key)
    await expect(removeRuntime(app, 'local', { by: 'ann' })).rejects.toMatchObject({
      code: 'conflict',
      hint: expect.stringContaining('force'),
    })
    await removeRuntime(app, 'local', { force: true, by: 'ann' })
    expect(await liveAttempts(app)).toEqual([])
  })
})
