/** Two servers on one store with different system clocks. */
import { silentLog, systemClock, type Clock } from '@windlass/kit'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { heartbeat } from '../../../src/builds/engine/engine-link.ts'
import { openHearing } from '../../../src/builds/engine/hearing.ts'
import { openApp, type OpenApp } from '../../../src/open-app.ts'
import { openStoreClock } from '../../../src/store/database/store-clock.ts'
import { openScene, runAttempt, show, submit, sweep } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const SKEW_MS = 60_000

function offBy(ms: number, clock: Clock): Clock {
  return { ...clock, now: () => clock.now() + ms }
}

describe('servers whose clocks differ by a minute', () => {
  let database: Database
  beforeAll(async () => {
    database = await DATABASES[0].open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  /** Returns another server on the same store. Its process has another clock; its time is that of the store. */
  async function openSecond(app: App, { ms, database: time }: { ms: number; database: Clock }): Promise<App> {
    const clock = openStoreClock(offBy(ms, time), async () => time.now())
    await clock.measure()
    return { ...app, clock, hearing: openHearing(clock, app.timings) }
  }

  test.each([SKEW_MS, -SKEW_MS])('do not treat an engine that calls the other one as dead (%i ms)', async (ms) => {
    await using held = await openTestApp(database)
    const [near, far] = [
      await openSecond(held.app, { ms: 0, database: held.clock }),
      await openSecond(held.app, { ms, database: held.clock }),
    ]
    const scene = await openScene(near)
    const key = await runAttempt(scene, await submit(scene))
    for (let n = 0; n < 12; n += 1) {
      held.clock.advance(10_000)
      await heartbeat(n % 2 === 0 ? near : far, key)
      for (const app of [near, far]) await sweep(app, true)
    }
    const { attempts } = await show(near, key.buildId)
    expect(attempts).toMatchObject([{ number: 1, status: 'running' }])
    held.clock.advance(held.app.timings.deadMs + 1)
    await sweep(far, true)
    expect(await show(near, key.buildId)).toMatchObject({ status: 'pending', reason: 'retry-pending' })
  })
})

describe('servers on one PostgreSQL', () => {
  let database: Database
  beforeAll(async () => {
    database = await DATABASES[1].open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  async function start(place: { dataDir: string; databaseUrl?: string | undefined }, clock: Clock): Promise<OpenApp> {
    return openApp({ ...place, clock, log: silentLog, startsLoops: false }, () => 'http://server.test')
  }

  test('use the time of the database regardless of their own clocks', async () => {
    const place = await database.fresh()
    const servers = [await start(place, systemClock), await start(place, offBy(SKEW_MS, systemClock))]
    try {
      const [near, far] = servers.map(({ app }) => app)
      if (near === undefined || far === undefined) throw new Error('no servers')
      expect(Math.abs(near.clock.now() - far.clock.now())).toBeLessThan(SKEW_MS / 2)
      const scene = await openScene(near)
      const key = await runAttempt(scene, await submit(scene))
      await heartbeat(near, key)
      await sweep(far, true)
      await heartbeat(far, key)
      await sweep(near, true)
      expect((await show(near, key.buildId)).attempts).toMatchObject([{ number: 1, status: 'running' }])
    } finally {
      for (const { close } of servers) await close()
    }
  })

  test('create one account when both start on an empty database', async () => {
    const place = await database.fresh({ isBare: true })
    const servers = await Promise.all(Array.from({ length: 4 }, () => start(place, systemClock)))
    try {
      expect(new Set(servers.map(({ app }) => app.accountId)).size).toBe(1)
      expect(await servers[0]?.app.store.query.selectFrom('account').select('id').execute()).toHaveLength(1)
    } finally {
      for (const { close } of servers) await close()
    }
  })
})
