/** The state of the server, and the activity of runtimes. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { RuntimeActivity, SystemState } from '@windlass/protocol'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { takeSamples } from '../../../src/health/samples.ts'
import { readSystemState } from '../../../src/health/system-state.ts'
import { readActivity } from '../../../src/runtimes/activity.ts'
import { recordReplica } from '../../../src/store/account/replicas.ts'
import { VERSION } from '../../../src/version.ts'
import { ended, openScene, runAttempt, say, started, submit } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

describe.each(DATABASES)('state of the server on $name', ({ name, open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('shows versions, sizes, retention, load and settings that differ', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { capacity: 1 })
    const key = await runAttempt(scene, await submit(scene))
    await say(app, key, started, ended('success'))
    const endedAt = clock.now()
    clock.advance(1000)
    await submit(scene)
    await app.store.write((tx) => recordReplica(tx, { id: 'r1', keys: [], seenAt: clock.now(), version: VERSION, lagMs: 12 }, 0))
    const system = SystemState.parse(await readSystemState(app))
    expect(system).toMatchObject({
      version: VERSION,
      store: { kind: name === 'SQLite' ? 'sqlite' : 'postgres' },
      replicas: name === 'SQLite' ? [{ version: VERSION }] : [{ id: 'r1', version: VERSION, lagMs: 12 }],
      agents: { total: 1, online: 1, versions: ['0'] },
      retention: { buildDays: 180, logDays: 90, oldestLogAt: endedAt, oldestBuildAt: endedAt },
      queue: { waiting: 1 },
    })
    expect(system.store.version).toMatch(/^\d+\.\d+/)
    expect(system.store.bytes).toBeGreaterThan(10_000)
    expect(system.disk.totalBytes).toBeGreaterThan(system.disk.freeBytes)
    expect(system.settings.current).toEqual(system.settings.defaults)
  })

  test('forecasts when the disk is full from samples, one an hour, whichever server takes them', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const { totalBytes } = (await readSystemState(app)).disk
    await takeSamples(app)
    await takeSamples(app)
    expect(await app.store.query.selectFrom('disk_sample').selectAll().execute()).toHaveLength(1)
    await app.store.query.deleteFrom('disk_sample').execute()
    const at = clock.now() - 48 * HOUR
    for (const [hour, used] of [0.5, 0.6, 0.7].entries())
      await app.store.query
        .insertInto('disk_sample')
        .values({
          account_id: app.accountId,
          at: at + hour * 24 * HOUR,
          used_bytes: Math.round(totalBytes * used),
          total_bytes: totalBytes,
        })
        .execute()
    // 10 % a day from 70 % to the 95 % at which no builds are accepted.
    expect((await readSystemState(app)).disk.fullInMs ?? 0).toBeCloseTo(2.5 * 24 * HOUR, -6)
  })

  test('shows builds of a runtime now, and one sample for each five minutes of the last 24 hours', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { capacity: 1 })
    const running = await submit(scene)
    await runAttempt(scene, running)
    const waiting = await submit(scene)
    await elect(app)
    await takeSamples(app)
    await takeSamples(app)
    clock.advance(5 * MINUTE)
    await takeSamples(app)
    const activity = RuntimeActivity.parse(await readActivity(app, 'local'))
    expect(activity).toMatchObject({
      running: [{ id: running.id }],
      waiting: [{ id: waiting.id, reason: 'runtime-capacity' }],
      pairs: [],
      samples: [
        { running: 1, waiting: 1, pairs: 0 },
        { running: 1, waiting: 1, pairs: 0 },
      ],
    })
    clock.advance(25 * HOUR)
    await takeSamples(app)
    expect((await readActivity(app, 'local')).samples).toHaveLength(1)
    await expect(readActivity(app, 'none')).rejects.toMatchObject({ code: 'not-found' })
  })
})
