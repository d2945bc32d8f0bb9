/** Pairs that are kept ready, and the builds that use them. */
import { PAIR_ATTEMPT, attemptOfPair, awaitBuild } from '../../../src/warm/pairs.ts'
import { RuntimeInput, type StartTask, type Task } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { putRuntime } from '../../../src/runtimes/runtimes.ts'
import { greetAgent } from '../../../src/tasks/hello.ts'
import { fillPools } from '../../../src/warm/fill.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import {
  ended,
  openScene,
  PROTOCOL,
  report,
  runAttempt,
  say,
  show,
  started,
  submit,
  take,
  tell,
  type Scene,
} from '../../support/scene.ts'

const never = new AbortController().signal
const selector = { dockerDaemonScheduler: { pvcs: { dind: { reuseVolumeSelector: 'codefresh-app,pipeline_id' } } } }

async function poolOf(scene: Scene, spec: object): Promise<void> {
  const input = RuntimeInput.parse({ name: 'local', type: 'kubernetes', agent: 'agent', isDefault: true, spec })
  await putRuntime(scene.app, { name: 'local', input, changedBy: 'tester' })
}

/** Runs one cold build, which creates demand. */
async function demand(scene: Scene): Promise<void> {
  const key = await runAttempt(scene, await submit(scene))
  await say(scene.app, key, started, ended('success'))
  for (const task of await take(scene)) await report(scene, task, 'done')
}

const starts = (tasks: readonly Task[]): StartTask[] => tasks.filter((task): task is StartTask => task.kind === 'start-attempt')

/** Reports the pair as created and its engine as waiting. */
async function warmUp(scene: Scene): Promise<StartTask[]> {
  await fillPools(scene.app, true)
  const tasks = starts(await take(scene))
  for (const task of tasks) {
    await report(scene, task, 'done')
    await tell(scene, { buildId: task.buildId, attempt: task.attempt, state: 'running', dockerHost: 'tcp://10.0.0.1:1300' })
    expect(await awaitBuild(scene.app, task.buildId, { waitMs: 0, signal: never })).toBe(false)
  }
  return tasks
}

const pairs = ({ app }: Scene) => app.store.query.selectFrom('warm_pair').selectAll().orderBy('id').execute()

describe.each(DATABASES)('warm pairs on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('gives a build a ready pair, creates nothing for it, and removes the pair with it', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await poolOf(scene, { warmPool: { min: 1, max: 2 } })
    await demand(scene)
    const [pair] = await warmUp(scene)
    if (pair === undefined) throw new Error('no pair was made')
    expect(pair.objects.map(({ kind }) => kind)).toEqual(['Secret', 'PersistentVolumeClaim', 'Pod', 'Pod'])
    expect(JSON.stringify(pair.objects.at(-1))).toContain('WINDLASS_ENGINE_WARM')
    expect(pair).toMatchObject({ warm: true })

    const build = await submit(scene)
    await elect(held.app)
    expect(starts(await take(scene))).toEqual([])
    expect(await awaitBuild(held.app, pair.buildId, { waitMs: 0, signal: never })).toBe(true)
    const key = await attemptOfPair(held.app.store.query, { buildId: pair.buildId, attempt: PAIR_ATTEMPT })
    expect(key).toEqual({ buildId: build.id, attempt: 1 })
    const claimed = await claimAttempt(held.app, key, { ...PROTOCOL, claimKey: 'key-of-the-engine-of-a-pair' })
    expect(claimed.buildId).toBe(build.id)
    await say(held.app, key, started, ended('success'))
    expect(await show(held.app, build.id)).toMatchObject({ status: 'success' })

    const stops = (await take(scene)).filter(({ kind }) => kind === 'stop-attempt')
    expect(stops).toMatchObject([{ buildId: pair.buildId, attempt: PAIR_ATTEMPT }])
    for (const stop of stops) await report(scene, stop, 'done')
    await tell(scene, { buildId: pair.buildId, attempt: PAIR_ATTEMPT, state: 'gone' })
    const attempt = await held.app.store.query
      .selectFrom('attempt')
      .selectAll()
      .where('build_id', '=', build.id)
      .executeTakeFirstOrThrow()
    expect(attempt).toMatchObject({ pair_id: pair.buildId, gone: 1 })
  })

  test('never gives one pair to two builds in concurrent elections', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await poolOf(scene, { warmPool: { min: 3, max: 3 } })
    await demand(scene)
    expect(await warmUp(scene)).toHaveLength(3)
    await Promise.all(Array.from({ length: 8 }, () => submit(scene)))
    await Promise.all(Array.from({ length: 6 }, () => elect(held.app)))
    const taken = (
      await held.app.store.query.selectFrom('attempt').select('pair_id').where('pair_id', 'is not', null).execute()
    ).map(({ pair_id: id }) => id)
    expect(taken).toHaveLength(3)
    expect(new Set(taken).size).toBe(3)
    expect(starts(await take(scene))).toHaveLength(5)
  })

  test('a pair that waits for its turn on the nodes does not count as failed', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await poolOf(scene, { warmPool: { min: 1, max: 1 }, limits: { electedMs: 5000 } })
    await submit(scene)
    await elect(held.app)
    await take(scene)
    await fillPools(held.app, true)
    const [task] = starts(await take(scene))
    for (const before of [2, 1]) {
      const message = `${before} before this one`
      await tell(scene, { buildId: task?.buildId ?? '', attempt: 1, state: 'waiting', reason: 'start-limit', message })
      held.clock.advance(4000)
      await fillPools(held.app, true)
    }
    expect(await pairs(scene)).toMatchObject([{ status: 'starting' }])
    held.clock.advance(1001)
    await fillPools(held.app, true)
    expect(await pairs(scene)).toMatchObject([{ status: 'stopping', message: 'It was not ready in time.' }, {}])
  })

  test('hands out the limit of starts of the runtime, and keeps its pairs if only the limit changes', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await poolOf(scene, { warmPool: { min: 1, max: 1 }, starts: { perCore: 0.5, max: 8 } })
    await submit(scene)
    await elect(held.app)
    const [cold] = starts(await take(scene))
    expect(cold).toMatchObject({ starts: { perCore: 0.5, max: 8 } })
    expect(cold?.warm).toBeUndefined()
    const [pair] = await warmUp(scene)
    expect(pair).toMatchObject({ warm: true, starts: { perCore: 0.5, max: 8 } })
    await poolOf(scene, { warmPool: { min: 1, max: 1 }, starts: { max: 1 } })
    await fillPools(held.app, true)
    expect(await pairs(scene)).toMatchObject([{ status: 'ready' }])
  })

  test('gives a pair only to builds that may use its disk and need the runtime unchanged', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await poolOf(scene, { ...selector, warmPool: { min: 1, max: 1 } })
    await demand(scene)
    await warmUp(scene)
    // Without a pipeline, like the one before, but with an empty disk, with more memory, or restarted.
    for (const input of [{ resetVolume: true }, { machine: { memory: '3Gi' } }]) await submit(scene, input)
    await elect(held.app)
    expect(starts(await take(scene))).toHaveLength(2)
    expect((await pairs(scene)).map(({ status }) => status)).toEqual(['ready'])
  })

  test('treats the loss of a used pair as the loss of the attempt, and retries cold', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await poolOf(scene, { warmPool: { min: 1, max: 1 } })
    await demand(scene)
    const [pair] = await warmUp(scene)
    const build = await submit(scene)
    await elect(held.app)
    await tell(scene, {
      buildId: pair?.buildId ?? '',
      attempt: PAIR_ATTEMPT,
      state: 'lost',
      reason: 'dind-lost',
      message: 'OOMKilled',
    })
    for (const stop of await take(scene)) await report(scene, stop, 'done')
    await elect(held.app)
    expect(starts(await take(scene)).map(({ buildId, attempt }) => [buildId, attempt])).toEqual([[build.id, 2]])
  })

  test('renews pairs because of age or a changed runtime, and removes them with the pool', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await poolOf(scene, { warmPool: { min: 1, max: 1, maxAgeSeconds: 600 } })
    await demand(scene)
    const [first] = await warmUp(scene)
    await poolOf(scene, { warmPool: { min: 1, max: 1, maxAgeSeconds: 600 }, runtimeScheduler: { envVars: { NEW: 'yes' } } })
    await fillPools(held.app, true)
    const tasks = await take(scene)
    expect(tasks.map(({ kind }) => kind).toSorted()).toEqual(['start-attempt', 'stop-attempt'])
    expect(tasks.find(({ kind }) => kind === 'stop-attempt')?.buildId).toBe(first?.buildId)
    for (const task of tasks) await report(scene, task, 'done')
    await expect(awaitBuild(held.app, first?.buildId ?? '', { waitMs: 0, signal: never })).rejects.toMatchObject({
      code: 'attempt-stale',
    })

    await poolOf(scene, {})
    await fillPools(held.app, true)
    const last = await take(scene)
    expect(last.map(({ kind }) => kind)).toEqual(['stop-attempt'])
    for (const task of last) await report(scene, task, 'done')
    expect((await pairs(scene)).map(({ status }) => status)).toEqual(['gone', 'gone'])
  })

  test('pauses the creation of pairs after failures, and builds start cold', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await poolOf(scene, { warmPool: { min: 2, max: 2 } })
    await demand(scene)
    await fillPools(held.app, true)
    for (const task of starts(await take(scene))) await report(scene, task, 'refused', { message: 'quota exceeded' })
    for (const task of await take(scene)) await report(scene, task, 'done')
    await fillPools(held.app, true)
    expect(await take(scene)).toEqual([])
    expect((await pairs(scene)).map(({ message }) => message)).toEqual(['quota exceeded', 'quota exceeded'])
    await submit(scene)
    await elect(held.app)
    expect(starts(await take(scene))).toHaveLength(1)
  })

  test('tells a restarted agent to remove unwanted pairs and keeps the others', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await poolOf(scene, { warmPool: { min: 1, max: 1 } })
    await demand(scene)
    const [pair] = await warmUp(scene)
    const left = [{ buildId: pair?.buildId ?? '', attempt: PAIR_ATTEMPT }]
    const again = async (instance: string): Promise<Scene> => {
      const { epoch } = await greetAgent(held.app, scene.agentId, {
        ...PROTOCOL,
        executor: 'kubernetes',
        instance,
        attempts: left,
      })
      return { ...scene, epoch, instance }
    }
    expect(await take(await again('the-second-process'))).toEqual([])
    await held.app.store.query.updateTable('warm_pair').set({ status: 'gone' }).execute()
    expect((await take(await again('the-third-process'))).map(({ kind, buildId }) => [kind, buildId])).toEqual([
      ['stop-attempt', pair?.buildId],
    ])
  })
})
