/** The log of a lost attempt: what its engine still sends before the next attempt starts, and how the feed reports missing bytes. */
import { isFault, manualClock, systemClock } from '@windlass/kit'
import { Build, FeedItem, type StartTask } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { z } from 'zod'
import { startEngine, type TestEngine } from '../../support/fakes/fake-agent.ts'
import { openHttpScene, type HttpScene } from '../../support/http-scene.ts'

const KILLED = 'The engine ended: OOMKilled, exit code 137.'
const BOUND_MS = 1_000

async function feed(scene: HttpScene, id: string): Promise<FeedItem[]> {
  const page = await scene.admin.call('GET', `/v1/builds/${id}/feed`, z.object({ items: z.array(FeedItem) }))
  return page.items
}

/** Returns the types of events, and the streams with the text of their frames, in order. */
function outline(items: readonly FeedItem[]): string[] {
  return items.map((item) =>
    item.kind === 'log' ? `${item.stream}: ${Buffer.from(item.bytes, 'base64').toString()}` : item.type,
  )
}

function eventsOf(items: readonly FeedItem[], type: string): Record<string, unknown>[] {
  return items.flatMap((item) => (item.kind === 'event' && item.type === type ? [item.data] : []))
}

async function look(scene: HttpScene, id: string): Promise<Build> {
  return scene.admin.call('GET', `/v1/builds/${id}`, Build)
}

/** Claims tasks until the start task of the attempt is handed out. */
async function nextStart(scene: HttpScene, attempt: number): Promise<StartTask> {
  for (;;) {
    for (const task of await scene.agent.claim()) if (task.kind === 'start-attempt' && task.attempt === attempt) return task
  }
}

async function beat({ client }: TestEngine, spooled: Record<string, number>): Promise<void> {
  await client.call('POST', '/v1/engine/heartbeat', z.object({}), { body: { spooled } })
}

interface Running {
  readonly build: Build
  readonly task: StartTask
  readonly engine: TestEngine
}

/** Starts a build whose step has written a line. */
async function startStep(scene: HttpScene): Promise<Running> {
  const running = await scene.start()
  await running.engine.event({ type: 'step.started', step: 'hello', try: 1 })
  await running.engine.log('step/hello', 'one\n')
  return running
}

const dead = ({ build }: Running): Record<string, unknown> => ({
  buildId: build.id,
  attempt: 1,
  object: 'engine-x',
  state: 'lost',
  reason: 'engine-lost',
  message: KILLED,
  engineMayReport: true,
})

test('an engine that restarts with its spool sends the rest of its log before the next attempt starts', async () => {
  await using scene = await openHttpScene()
  const running = await startStep(scene)
  const { build, engine, task } = running
  await scene.agent.fact(dead(running))
  expect(await look(scene, build.id)).toMatchObject({ status: 'running', attempt: 1 })

  // The restarted process finds the same credential and key next to its spool.
  expect((await startEngine(scene.server.url, task)).claimed.token).toBe(engine.claimed.token)
  await engine.log('step/hello', 'two\n')
  await engine.finish({ status: 'error', reason: 'engine-lost', message: 'The engine was restarted.' })
  await scene.agent.fact({ buildId: build.id, attempt: 1, state: 'gone' })
  await startEngine(scene.server.url, await nextStart(scene, 2))

  const items = await feed(scene, build.id)
  expect(outline(items).slice(2)).toEqual([
    'step.started',
    'step/hello: one\n',
    'attempt.waiting',
    'step/hello: two\n',
    'attempt.finished',
    'attempt.lost',
    'attempt.gone',
    'attempt.created',
  ])
  expect(eventsOf(items, 'attempt.lost')).toEqual([
    { reason: 'engine-lost', message: KILLED, retry: true, retryDecision: 'retried' },
  ])
})

test('an engine that ended its attempt before it died ends the build', async () => {
  await using scene = await openHttpScene()
  const running = await startStep(scene)
  await scene.agent.fact(dead(running))
  await running.engine.finish({ status: 'success' })
  expect(await look(scene, running.build.id)).toMatchObject({ status: 'success', attempt: 1 })
})

test('an attempt whose engine sends heartbeats but no log is lost after one lease', async () => {
  // Time passes only between heartbeats, so that the first one is in time.
  const clock = manualClock(systemClock.now())
  await using scene = await openHttpScene({ clock, timings: { sweepMs: 50, deadMs: BOUND_MS } })
  const running = await startStep(scene)
  const { build, engine } = running
  await scene.agent.fact(dead(running))
  const beats = async (): Promise<string> => {
    for (let accepted = 0; ; accepted += 1) {
      const code = await beat(engine, {}).then(
        () => undefined,
        (error: unknown) => (isFault(error) ? error.code : String(error)),
      )
      if (code !== undefined) return `${accepted > 0 ? 'accepted' : 'never accepted'}, then ${code}`
      clock.advance(BOUND_MS / 20)
    }
  }
  expect(await beats()).toBe('accepted, then attempt-stale')
  await scene.agent.fact({ buildId: build.id, attempt: 1, state: 'gone' })
  await nextStart(scene, 2)
  const items = await feed(scene, build.id)
  expect(outline(items)).toContain('attempt.waiting')
  expect(eventsOf(items, 'attempt.lost')).toEqual([
    { reason: 'engine-lost', message: KILLED, retry: true, retryDecision: 'retried' },
  ])
  expect(eventsOf(items, 'log.incomplete')).toMatchObject([{ stream: 'step/hello', from: 4, atLeast: 0 }])
})

test('an attempt whose engine has not claimed it is lost at once', async () => {
  await using scene = await openHttpScene()
  const build = await scene.submit()
  const [task] = await scene.agent.claim()
  if (task?.kind !== 'start-attempt') throw new Error('no task')
  await scene.agent.fact({
    buildId: build.id,
    attempt: 1,
    state: 'lost',
    reason: 'engine-lost',
    message: KILLED,
    engineMayReport: true,
  })
  expect(eventsOf(await feed(scene, build.id), 'attempt.lost')).toMatchObject([{ reason: 'engine-lost', message: KILLED }])
})

test('the feed reports from which byte the log of a lost attempt is missing, and the known number of missing bytes', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await startStep(scene)
  await engine.event({ type: 'step.started', step: 'other', try: 1 })
  await engine.log('step/other', 'all of it\n')
  await engine.log('system', 'ready\n')
  await beat(engine, { 'step/hello': 5_004, 'step/none-yet': 70, 'step/other': 10, 'terminal/0123456789abcdef01234567': 9 })
  await scene.agent.fact({ buildId: build.id, attempt: 1, object: 'engine-x', state: 'lost', reason: 'node-lost' })

  const items = await feed(scene, build.id)
  expect(outline(items).slice(-4)).toEqual(['attempt.lost', 'log.incomplete', 'log.incomplete', 'log.incomplete'])
  const [attempt] = (await look(scene, build.id)).attempts ?? []
  expect(attempt?.missingLog).toEqual([
    { stream: 'step/hello', from: 4, atLeast: 5_000 },
    { stream: 'step/none-yet', from: 0, atLeast: 70 },
    { stream: 'step/other', from: 10, atLeast: 0 },
  ])
  expect(eventsOf(items, 'log.incomplete')).toEqual([
    {
      stream: 'step/hello',
      step: 'hello',
      from: 4,
      atLeast: 5_000,
      message: 'The log of attempt 1 is incomplete: it ends at byte 4, and at least 5000 bytes were lost with the engine.',
    },
    {
      stream: 'step/none-yet',
      step: 'none-yet',
      from: 0,
      atLeast: 70,
      message: 'The log of attempt 1 is incomplete: it ends at byte 0, and at least 70 bytes were lost with the engine.',
    },
    {
      stream: 'step/other',
      step: 'other',
      from: 10,
      atLeast: 0,
      message: 'The log of attempt 1 is incomplete: it ends at byte 10; output after that may be lost.',
    },
  ])
})

test('does not report a complete log of a lost attempt as incomplete', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await startStep(scene)
  await beat(engine, { 'step/hello': 8 })
  await engine.log('step/hello', 'two\n')
  await engine.event({
    type: 'step.finished',
    step: 'hello',
    try: 1,
    status: 'success',
    exitCode: 0,
    members: {},
    exports: [],
    streams: { 'step/hello': 8 },
  })
  await scene.agent.fact({ buildId: build.id, attempt: 1, object: 'engine-x', state: 'lost', reason: 'node-lost' })
  const items = await feed(scene, build.id)
  expect(eventsOf(items, 'attempt.lost')).toHaveLength(1)
  expect(eventsOf(items, 'log.incomplete')).toEqual([])
})

test('a build that ends with a loss reports the missing log before its last event', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await startStep(scene)
  await beat(engine, { 'step/hello': 5 })
  await scene.agent.fact({
    buildId: build.id,
    attempt: 1,
    object: 'engine-x',
    state: 'lost',
    reason: 'node-lost',
    permanent: true,
  })
  expect(outline(await feed(scene, build.id)).slice(-3)).toEqual(['attempt.lost', 'log.incomplete', 'build.finished'])
})

test('a heartbeat with invalid lengths still renews the lease', async () => {
  await using scene = await openHttpScene()
  const { build, engine } = await startStep(scene)
  for (const spooled of [{ 'step/hello': -1 }, { passwords: 1 }]) await beat(engine, spooled)
  expect(await look(scene, build.id)).toMatchObject({ status: 'running' })
})

test('a heartbeat with thousands of streams blocks neither its build nor the facts of other builds', async () => {
  await using scene = await openHttpScene()
  const one = await startStep(scene)
  const other = await startStep(scene)
  await beat(one.engine, Object.fromEntries(Array.from({ length: 4_200 }, (_, n) => [`step/${n}`, 1])))
  const lost = { attempt: 1, object: 'engine-x', state: 'lost', reason: 'node-lost', permanent: true }
  await scene.agent.fact({ ...lost, buildId: one.build.id })
  await scene.agent.fact({ ...lost, buildId: other.build.id })
  for (const { build } of [one, other]) expect((await look(scene, build.id)).status).toBe('error')
  const { missingLog = [] } = (await look(scene, one.build.id)).attempts?.[0] ?? {}
  expect(missingLog).toHaveLength(1_000)
  const rows = await scene.server.app.store.query
    .selectFrom('event')
    .select('data')
    .where('build_id', '=', one.build.id)
    .where('type', '=', 'log.incomplete')
    .execute()
  expect(rows).toHaveLength(1_001)
  expect(JSON.parse(rows.at(-1)?.data ?? '')).toEqual({
    others: 3_201,
    message: 'The logs of 3201 more streams of attempt 1 are incomplete.',
  })
})

test('a fact that cannot be stored does not block the facts of other builds of the agent', async () => {
  await using scene = await openHttpScene()
  const one = await startStep(scene)
  const other = await startStep(scene)
  const { store } = scene.server.app
  // A row that this server cannot read.
  await store.write((tx) => tx.query.updateTable('attempt').set({ spooled: '[]' }).where('build_id', '=', one.build.id).execute())
  const { instance, epoch } = await store.query.selectFrom('agent').select(['instance', 'epoch']).executeTakeFirstOrThrow()
  const lost = { at: 1, attempt: 1, object: 'engine-x', state: 'lost', reason: 'node-lost', permanent: true }
  const facts = [one, other].map(({ build }, index) => ({ ...lost, seq: index + 1, buildId: build.id }))
  const send = async (): Promise<unknown> =>
    scene.agent.client.call('POST', '/v1/agent/facts', z.unknown(), { body: { epoch, instance, facts } })
  await expect(send()).rejects.toMatchObject({ code: 'internal' })
  expect((await look(scene, one.build.id)).status).toBe('running')
  expect((await look(scene, other.build.id)).status).toBe('error')
  await store.write((tx) => tx.query.updateTable('attempt').set({ spooled: null }).where('build_id', '=', one.build.id).execute())
  expect(await send()).toMatchObject({ ackSeq: 2 })
  expect((await look(scene, one.build.id)).status).toBe('error')
})
