/** A server whose store fails for longer than engines may be silent, from the view of an engine. */
import { isFault, manualClock, silentLog, systemClock } from '@windlass/kit'
import { Build, HeartbeatAnswer } from '@windlass/protocol'
import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'
import type { TestEngine } from '../../support/fakes/fake-agent.ts'
import { callOfAgents } from '../../support/scene.ts'

interface OutageScene extends AsyncDisposable {
  readonly scene: HttpScene
  readonly build: Build
  readonly engine: TestEngine
  /** Advances the clock, with one sweep per second. */
  pass(seconds: number): Promise<void>
  /** Sends a heartbeat. Resolves with `ok`, or the code of the fault. */
  beat(): Promise<string>
  /** Advances the clock while the engine sends a heartbeat every ten seconds. Resolves with the results of the heartbeats. */
  live(seconds: number): Promise<Set<string>>
  statusOf(): Promise<string>
  /** Runs a statement on the database of the server. */
  run(statement: string): Promise<void>
}

/** Opens a scene with a running attempt, after the first lease since the start, so that its silence counts. */
async function openOutageScene(): Promise<OutageScene> {
  const clock = manualClock(1_800_000_000_000)
  const scene = await openHttpScene({ clock })
  const { app } = scene.server
  const { build, engine } = await scene.start()
  const pass = async (seconds: number): Promise<void> => {
    for (let left = seconds; left > 0; left -= 1) {
      // This fails while the store is unavailable.
      await callOfAgents(app).catch(() => undefined)
      clock.advance(1000)
      while (app.hearing.heardAt !== clock.now()) await systemClock.sleep(1)
    }
  }
  const beat = async (): Promise<string> =>
    engine.client.call('POST', '/v1/engine/heartbeat', HeartbeatAnswer, { body: {} }).then(
      () => 'ok',
      (error: unknown) => (isFault(error) ? error.code : String(error)),
    )
  const live = async (seconds: number): Promise<Set<string>> => {
    const answers = new Set<string>()
    for (let left = seconds; left > 0; left -= 10) {
      await pass(10)
      answers.add(await beat())
    }
    return answers
  }
  expect(await live(60)).toEqual(new Set(['ok']))
  return {
    scene,
    build,
    engine,
    pass,
    beat,
    live,
    statusOf: async () => (await scene.admin.call('GET', `/v1/builds/${build.id}`, Build)).status,
    run: async (statement) => void (await sql.raw(statement).execute(app.store.query)),
    [Symbol.asyncDispose]: () => scene[Symbol.asyncDispose](),
  }
}

test.each([
  ['takes no writes', 'pragma query_only = 1', 'pragma query_only = 0', 'unavailable'],
  ['cannot be read', 'alter table attempt rename to away', 'alter table away rename to attempt', 'internal'],
])('a running attempt survives a database that %s', async (_what, breakIt, fixIt, code) => {
  await using outage = await openOutageScene()
  await outage.run(breakIt)
  expect(await outage.live(120)).toEqual(new Set([code]))
  await outage.run(fixIt)
  await outage.pass(30)
  expect(await outage.statusOf()).toBe('running')
  expect(await outage.live(60)).toEqual(new Set(['ok']))
  await outage.engine.succeed()
  const { scene, build } = outage
  expect(await scene.admin.call('GET', `/v1/builds/${build.id}`, Build)).toMatchObject({ status: 'success', attempt: 1 })
})

test('a heartbeat that the server cannot store gives the engine a full lease, although every sweep succeeds', async () => {
  await using outage = await openOutageScene()
  await outage.pass(20)
  await outage.run('pragma query_only = 1')
  expect(await outage.beat()).toBe('unavailable')
  await outage.run('pragma query_only = 0')
  await outage.pass(40)
  expect(await outage.statusOf()).toBe('running')
  await outage.pass(10)
  expect(await outage.statusOf()).toBe('pending')
})

test('the lease after a start begins when the server listens', async () => {
  const clock = manualClock(1_800_000_000_000)
  let listenedAt = Number.NaN
  const note = (_: unknown, message?: string): void => {
    // Everything before the server listens takes time, during which sweeps run.
    if (message === 'server listens') listenedAt = clock.monotonic()
    else clock.advance(1000)
  }
  await using scene = await openHttpScene({ clock, log: Object.assign(Object.create(silentLog), { info: note, warn: note }) })
  const { hearing, timings } = scene.server.app
  expect(listenedAt).toBeGreaterThan(0)
  expect(hearing.judgeFrom).toBeGreaterThanOrEqual(listenedAt + timings.deadMs)
})
