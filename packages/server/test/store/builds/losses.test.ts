/** What an attempt keeps about its loss: the first cause, whether it is permanent, and whether the build was retried. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { terminateBuild } from '../../../src/builds/lifecycle/ends/terminate.ts'
import type { AttemptKey } from '../../../src/store/builds/attempts.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { ended, openScene, report, runAttempt, say, show, submit, sweep, take, tell, type Scene } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const KILLED = { state: 'lost', reason: 'engine-lost', message: 'The engine was killed.' } as const

/** Loses an attempt and confirms that nothing is left of it. */
async function lose(scene: Scene, key: AttemptKey, more: object = {}): Promise<void> {
  await tell(scene, { ...key, ...KILLED, ...more })
  for (const task of await take(scene)) await report(scene, task, 'done')
}

describe.each(DATABASES)('losses of attempts, on $name', ({ name, open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  async function decisions(scene: Scene, id: string): Promise<unknown[]> {
    return ((await show(scene.app, id)).attempts ?? []).map(({ number, retryDecision }) => `${number}: ${retryDecision}`)
  }

  test('keeps the decision about each attempt until the retries are used up', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const build = await submit(scene)
    for (const reason of ['node-lost', 'evicted', 'node-lost'] as const)
      await lose(scene, await runAttempt(scene, build), { reason })
    expect(await decisions(scene, build.id)).toEqual(['1: retried', '2: retried', '3: exhausted'])
    expect(await show(held.app, build.id)).toMatchObject({ status: 'error', reason: 'node-lost', retries: 2 })
  })

  test('says that a build was poison or was ending already', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const poison = await submit(scene)
    for (let n = 0; n < 3; n += 1) await lose(scene, await runAttempt(scene, poison))
    expect(await decisions(scene, poison.id)).toEqual(['1: retried', '2: retried', '3: poison'])
    const stopped = await submit(scene)
    const key = await runAttempt(scene, stopped)
    await terminateBuild(held.app, stopped.id, 'ann')
    await lose(scene, key)
    expect(await decisions(scene, stopped.id)).toEqual(['1: terminating'])
  })

  test('a permanent loss ends the build, even if the engine reports a loss of its own after it', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    await tell(scene, { ...key, ...KILLED, permanent: true, engineMayReport: true })
    expect(await show(held.app, build.id)).toMatchObject({ status: 'running' })
    await say(held.app, key, ended('error', { reason: 'dind-lost', message: 'The daemon does not answer.' }))
    expect(await show(held.app, build.id)).toMatchObject({
      status: 'error',
      reason: 'engine-lost',
      message: KILLED.message,
      attempt: 1,
    })
    expect(await decisions(scene, build.id)).toEqual(['1: permanent'])
  })

  test('starts no other attempt after a request to stop, whatever order the loss and the stop are reported in', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const lost = { state: 'lost', reason: 'engine-lost' } as const
    const moves: Readonly<Record<string, (key: AttemptKey) => Promise<unknown>>> = {
      terminate: ({ buildId }) => terminateBuild(app, buildId, 'ann').catch(isFinalAlready),
      'lost, the engine may report': (key) => tell(scene, { ...key, ...lost, engineMayReport: true }),
      lost: (key) => tell(scene, { ...key, ...lost }),
      reported: (key) => say(app, key, ended('error', { reason: 'dind-lost' })).catch(isStale),
      gone: (key) => tell(scene, { ...key, state: 'gone' }),
    }
    // The order is judged outside SQL, so the slower database gets a sample of the 120 orders.
    const orders = permutations(Object.keys(moves)).filter((_, n) => name === 'SQLite' || n % 7 === 0)
    for (const order of orders) {
      const build = await submit(scene)
      const key = await runAttempt(scene, build)
      let atStop: number | undefined
      for (const move of order) {
        await moves[move]?.(key)
        if (move === 'terminate') atStop = (await show(app, build.id)).attempt
        await elect(app)
        await sweep(app, true)
      }
      const where = order.join(' > ')
      expect((await show(app, build.id)).attempt, where).toBe(atStop)
      for (const task of await take(scene)) await report(scene, task, 'done')
      expect((await show(app, build.id)).status, where).toBe('terminated')
    }
  })
})

function permutations(all: readonly string[]): string[][] {
  if (all.length === 0) return [[]]
  return all.flatMap((first) => permutations(all.filter((other) => other !== first)).map((rest) => [first, ...rest]))
}

const isFault = (code: string) => (error: unknown) => expect(error).toMatchObject({ code })
const isStale = isFault('attempt-stale')
const isFinalAlready = isFault('build-final')
