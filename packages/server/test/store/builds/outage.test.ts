/** The database is unavailable while the server runs: that time does not count against engines, agents or builds. */
import { RuntimeInput } from '@windlass/protocol'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { heartbeat } from '../../../src/builds/engine/engine-link.ts'
import { hearsEngines } from '../../../src/builds/engine/hearing.ts'
import { sweepLoop } from '../../../src/builds/lifecycle/ends/sweep.ts'
import { terminateBuild } from '../../../src/builds/lifecycle/ends/terminate.ts'
import { putRuntime } from '../../../src/runtimes/runtimes.ts'
import { awaitBuild } from '../../../src/warm/pairs.ts'
import { fillPools } from '../../../src/warm/fill.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'
import {
  callOfAgents,
  ended,
  openScene,
  report,
  runAttempt,
  say,
  show,
  startAttempt,
  started,
  stepDone,
  submit,
  take,
  tell,
} from '../../support/scene.ts'
import type { AttemptKey } from '../../../src/store/builds/attempts.ts'

const never = new AbortController().signal
const OUTAGE_S = 240

/**
 * Runs the sweep loop of a server. Returns a function that advances its clock with one sweep per second; on PostgreSQL, where sweeps take longer and judge the
 * same rows, with one sweep per five seconds.
 */
function startSweeps({ app, clock }: TestApp): (seconds: number) => Promise<void> {
  const step = app.store.name === 'sqlite' ? 1 : 5
  let swept = Promise.withResolvers<void>()
  const counted: typeof clock = {
    ...clock,
    sleep(ms, signal) {
      const slept = clock.sleep(ms, signal)
      swept.resolve()
      return slept
    },
  }
  void sweepLoop({ ...app, clock: counted })
  return async (seconds) => {
    for (let left = seconds; left > 0; left -= step) {
      await swept.promise
      swept = Promise.withResolvers()
      // Calls cannot be recorded while the store is unavailable.
      await callOfAgents(app).catch(() => undefined)
      clock.advance(Math.min(step, left) * 1000)
    }
    await swept.promise
  }
}

/** Advances the clock while engines call every ten seconds. */
async function live(
  { app }: TestApp,
  pass: (seconds: number) => Promise<void>,
  keys: readonly AttemptKey[],
  seconds: number,
): Promise<void> {
  for (let left = seconds; left > 0; left -= 10) {
    await pass(Math.min(left, 10))
    for (const key of keys) await heartbeat(app, key)
  }
}

/** Makes calls of engines and agents fail in the meantime, like the sweeps. */
async function withoutAttempts({ app }: TestApp, work: () => Promise<void>): Promise<void> {
  await sql`alter table attempt rename to attempt_away`.execute(app.store.query)
  await work()
  await sql`alter table attempt_away rename to attempt`.execute(app.store.query)
}

describe.each(DATABASES)('a database outage of minutes, on $name', ({ name, open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('does not count as silence of engines, which get a full lease to call again', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const pass = startSweeps(held)
    const silent = await submit(scene)
    await startAttempt(scene, silent)
    await tell(scene, { buildId: silent.id, attempt: 1, state: 'running', object: `engine-${silent.id}` })
    const busy = await submit(scene)
    const key = await runAttempt(scene, busy)
    await live(held, pass, [key], 60)
    await withoutAttempts(held, () => pass(OUTAGE_S))
    await pass(2)
    expect(await show(held.app, silent.id)).toMatchObject({ status: 'elected', reason: 'engine-silent' })
    expect(await show(held.app, busy.id)).toMatchObject({ status: 'running', attempt: 1 })
    // Engines that stay silent from here on are lost.
    await pass(50)
    expect(await show(held.app, busy.id)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
    await pass(135)
    expect(await show(held.app, silent.id)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
  })

  test('does not let a build that cannot be read block the sweep of others', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const pass = startSweeps(held)
    const broken = await submit(scene)
    await runAttempt(scene, broken)
    const busy = await submit(scene)
    await runAttempt(scene, busy)
    await held.app.store.query.updateTable('attempt').set({ limits: '{' }).where('build_id', '=', broken.id).execute()
    await pass(held.app.timings.deadMs / 1000 + 60)
    expect(await show(held.app, busy.id)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
  })

  test('does not count as inactivity of a build or as a slow first step', async () => {
    await using held = await openTestApp(database)
    const limits = { inactiveMs: 120_000, preStepsMs: 120_000 }
    const scene = await openScene(held.app, { limits })
    const pass = startSweeps(held)
    const idle = await submit(scene)
    const key = await runAttempt(scene, idle)
    await say(held.app, key, started)
    await withoutAttempts(held, () => pass(OUTAGE_S))
    await heartbeat(held.app, key)
    await pass(2)
    expect(await show(held.app, idle.id)).toMatchObject({ status: 'running', attempt: 1 })
  })

  test('does not count towards the start timeout, unlike the time before and after it', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app, { limits: { electedMs: 200_000 } })
    const pass = startSweeps(held)
    const build = await submit(scene)
    await startAttempt(scene, build)
    await pass(100)
    await withoutAttempts(held, () => pass(OUTAGE_S))
    await pass(95)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'elected' })
    await pass(10)
    expect(await show(held.app, build.id)).toMatchObject({ status: 'error', reason: 'start-timeout' })
  })

  test('does not end builds after its end because of an old last step or a pending termination', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app, {
      limits: { postStepsMs: 60_000, terminatingMs: 60_000, terminatingSilentMs: 60_000 },
    })
    const pass = startSweeps(held)
    const done = await submit(scene)
    const doneKey = await runAttempt(scene, done)
    await say(held.app, doneKey, started, stepDone('one'), stepDone('two'))
    const stopped = await submit(scene)
    const stoppedKey = await runAttempt(scene, stopped)
    await terminateBuild(held.app, stopped.id, 'ann')
    await withoutAttempts(held, () => pass(OUTAGE_S))
    await live(held, pass, [doneKey, stoppedKey], 50)
    expect(await show(held.app, done.id)).toMatchObject({ status: 'running' })
    expect(await show(held.app, stopped.id)).toMatchObject({ status: 'terminating' })
    await pass(20)
    expect(await show(held.app, done.id)).toMatchObject({ status: 'terminating', reason: 'too-long' })
    expect(await show(held.app, stopped.id)).toMatchObject({ status: 'terminated' })
  })

  // PostgreSQL cannot make existing sessions read-only from outside.
  const rejectsWrites = async (): Promise<void> => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const pass = startSweeps(held)
    const key = await runAttempt(scene, await submit(scene))
    await live(held, pass, [key], 60)
    await sql`pragma query_only = 1`.execute(held.app.store.query)
    for (let n = 0; n < 6; n += 1) {
      await pass(10)
      await expect(heartbeat(held.app, key)).rejects.toThrow(/readonly/)
    }
    await sql`pragma query_only = 0`.execute(held.app.store.query)
    await pass(2)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'running', attempt: 1 })
    await heartbeat(held.app, key)
    await pass(44)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'running', attempt: 1 })
    await pass(20)
    expect(await show(held.app, key.buildId)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
  }
  if (name === 'SQLite') test('has the same effect as a database that rejects writes', rejectsWrites)

  test('does not count time in which no server ran', async () => {
    const place = await database.fresh()
    const first = await openTestApp({ ...database, fresh: async () => place })
    const scene = await openScene(first.app, { limits: { electedMs: 120_000, inactiveMs: 120_000 } })
    const slow = await submit(scene)
    await startAttempt(scene, slow)
    const idle = await submit(scene)
    const key = await runAttempt(scene, idle)
    await say(first.app, key, started)
    await first[Symbol.asyncDispose]()
    const startAt = first.clock.now() + 3_600_000
    await using held = await openTestApp({ ...database, fresh: async () => place }, { startAt })
    const pass = startSweeps(held)
    await live(held, pass, [key], 110)
    expect(await show(held.app, slow.id)).toMatchObject({ status: 'elected' })
    expect(await show(held.app, idle.id)).toMatchObject({ status: 'running' })
    await pass(15)
    expect(await show(held.app, slow.id)).toMatchObject({ status: 'error', reason: 'start-timeout' })
    expect(await show(held.app, idle.id)).toMatchObject({ status: 'terminating', reason: 'inactive' })
  })

  test('does not count as silence of the engines of warm pairs', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const spec = { warmPool: { min: 2, max: 2 } }
    const input = RuntimeInput.parse({ name: 'local', type: 'kubernetes', agent: 'agent', isDefault: true, spec })
    await putRuntime(held.app, { name: 'local', input, changedBy: 'tester' })
    const pass = startSweeps(held)
    const key = await runAttempt(scene, await submit(scene))
    await say(held.app, key, started, ended('success'))
    for (const task of await take(scene)) await report(scene, task, 'done')
    await fillPools(held.app, false)
    const [ready, mute] = (await take(scene)).filter(({ kind }) => kind === 'start-attempt').map(({ buildId }) => buildId)
    if (ready === undefined || mute === undefined) throw new Error('no pairs are made')
    for (const buildId of [ready, mute]) await tell(scene, { buildId, attempt: 1, state: 'running', object: `engine-${buildId}` })
    const dind = { state: 'running', object: `dind-${ready}`, dockerHost: 'tcp://10.0.0.1:1300' } as const
    await tell(scene, { buildId: ready, attempt: 1, ...dind })
    await awaitBuild(held.app, ready, { waitMs: 0, signal: never })
    const statuses = async (): Promise<string[]> => {
      await fillPools(held.app, hearsEngines(held.app))
      const rows = await held.app.store.query.selectFrom('warm_pair').selectAll().where('id', 'in', [ready, mute]).execute()
      return rows.map(({ status }) => status).toSorted()
    }
    await pass(60)
    expect(await statuses()).toEqual(['ready', 'starting'])
    await withoutAttempts(held, () => pass(OUTAGE_S))
    expect(await statuses()).toEqual(['ready', 'starting'])
    await pass(80)
    expect(await statuses()).toEqual(['ready', 'starting'])
    await pass(120)
    // The process was suspended, and its sweep has not noticed yet.
    const { judged } = held.app.hearing
    held.app.hearing.judged = judged && { ...judged, steady: judged.steady - 60_000 }
    expect(await statuses()).toEqual(['ready', 'starting'])
    held.app.hearing.judged = judged
    expect(await statuses()).toEqual(['stopping', 'stopping'])
  })
})
