/** Many deliveries, repeated and in random order, processed by servers that are killed between any two steps: every event is built exactly once. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { isLong } from '../../../../../e2e/support/long.ts'
import type { App } from '../../../src/app.ts'
import { processDeliveries } from '../../../src/triggers/deliveries/process.ts'
import { addPipeline, addTrigger, addWebhook, deliver } from '../../support/forge-scene.ts'
import { githubPush } from '../../support/payloads/payloads.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const EVENTS = isLong ? 1_000 : 120
const REPEATS = 3
/** Calls that arrive at the same time. */
const CONCURRENT = 50
/** Share of the writes before or after which a server is killed. */
const KILLS = 0.05
const SEED = 20_261_124

/** A linear congruential generator: the same numbers in each run. */
function openRandom(seed: number): () => number {
  let state = seed
  return () => (state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32) / 2 ** 32
}

class Killed extends Error {}

/** Returns a server that dies at a random write, before or after its commit, and does nothing afterwards. */
function mortal(app: App, random: () => number, onKill: () => void): App {
  let isDead = false
  const mayDie = (): void => {
    if (!isDead && random() < KILLS) {
      isDead = true
      onKill()
    }
    if (isDead) throw new Killed()
  }
  const write: App['store']['write'] = async (work) => {
    mayDie()
    const value = await app.store.write(work)
    mayDie()
    return value
  }
  return { ...app, store: { ...app.store, write } }
}

function shuffle<T>(items: T[], random: () => number): T[] {
  for (let at = items.length - 1; at > 0; at -= 1) {
    const other = Math.floor(random() * (at + 1))
    ;[items[at], items[other]] = [items[other] as T, items[at] as T]
  }
  return items
}

describe.each(DATABASES)('redelivery on $name', ({ name, open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('each of many events that are delivered three times gives exactly one build, although servers are killed', async () => {
    const random = openRandom(SEED)
    const at = await database.fresh()
    await using first = await openTestApp(database, at)
    // SQLite has one server.
    await using second = name === 'SQLite' ? undefined : await openTestApp(database, at)
    const servers = [first, ...(second === undefined ? [] : [second])]
    const { app } = first
    const webhook = await addWebhook(app)
    await addPipeline(app, 'a/app')
    await addTrigger(app, 'a/app')
    let kills = 0
    let isOver = false
    const work = servers.map(async (server) => {
      while (!isOver) {
        const alive = mortal(server.app, random, () => (kills += 1))
        await processDeliveries(alive).catch((error: unknown) => {
          if (!(error instanceof Killed)) throw error
        })
        // The next server starts later than the others hold a delivery.
        for (const { clock } of servers) clock.advance(5_001)
        await new Promise((resolve) => void setImmediate(resolve))
      }
    })
    const calls = shuffle(
      Array.from({ length: EVENTS * REPEATS }, (_, index) => index % EVENTS),
      random,
    )
    while (calls.length > 0) {
      const some = calls.splice(0, CONCURRENT)
      await Promise.all(
        some.map((n, index) => {
          const { app: server } = servers[index % servers.length] ?? first
          const after = `c${n.toString(16).padStart(39, '0')}`
          return deliver(server, webhook, githubPush({ after, head_commit: { id: after } }), { id: `event-${n}` })
        }),
      )
    }
    const open = async (): Promise<number> => {
      const waiting = await app.store.query.selectFrom('delivery').select('id').where('next_at', 'is not', null).execute()
      return waiting.length
    }
    await expect.poll(open, { timeout: 200_000, interval: 200 }).toBe(0)
    isOver = true
    await Promise.all(work)
    const builds = await app.store.query.selectFrom('build').select(['id', 'revision', 'number']).execute()
    expect(builds).toHaveLength(EVENTS)
    expect(new Set(builds.map(({ revision }) => revision)).size).toBe(EVENTS)
    expect(new Set(builds.map((build) => build.number)).size).toBe(EVENTS)
    const deliveries = await app.store.query.selectFrom('delivery').select(['status', 'reason', 'repeats', 'verdicts']).execute()
    expect(deliveries).toHaveLength(EVENTS)
    for (const one of deliveries) expect(one).toMatchObject({ status: 'processed', reason: null, repeats: REPEATS - 1 })
    // Every delivery names its own build.
    const named = deliveries.map(({ verdicts }) => (JSON.parse(verdicts ?? '[]') as { buildId: string }[])[0]?.buildId)
    expect(new Set(named)).toEqual(new Set(builds.map(({ id }) => id)))
    expect(kills).toBeGreaterThan(20)
  })
})
