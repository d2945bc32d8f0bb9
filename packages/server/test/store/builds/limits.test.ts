import { systemClock } from '@windlass/kit'
import { PipelineInput } from '@windlass/protocol'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { openApp } from '../../../src/open-app.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { claim } from '../../../src/tasks/claim.ts'
import { extendLease } from '../../../src/tasks/report.ts'
import { lockPipeline } from '../../../src/store/pipelines/pipelines.ts'
import type { Query } from '../../../src/store/store.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import { HELLO, openScene, submit, take } from '../../support/scene.ts'

describe.each(DATABASES)('limits on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('never exceeds a limit and never creates two attempts in concurrent elections', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app, { capacity: 7 })
    await putPipeline(held.app, {
      input: PipelineInput.parse({ name: 'p/three', document: HELLO, concurrency: 3 }),
      precondition: {},
    })
    await Promise.all(
      Array.from({ length: 20 }, (_, n) => submit(scene, n % 2 === 0 ? { document: undefined, pipeline: 'p/three' } : {})),
    )
    await Promise.all(Array.from({ length: 8 }, () => elect(held.app)))
    const rows = await held.app.store.query.selectFrom('build').select(['status', 'pipeline']).execute()
    const elected = rows.filter(({ status }) => status === 'elected')
    expect(elected).toHaveLength(7)
    expect(elected.filter(({ pipeline }) => pipeline === 'p/three').length).toBeLessThanOrEqual(3)
    expect(await held.app.store.query.selectFrom('attempt').select('build_id').execute()).toHaveLength(7)
  })

  test('lets builds of a pipeline share its volume in turn, but never concurrently on one daemon', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await putPipeline(held.app, { input: PipelineInput.parse({ name: 'p/warm', document: HELLO }), precondition: {} })
    await held.app.store.query.updateTable('runtime').set({ type: 'docker' }).execute()
    await Promise.all([1, 2].map(() => submit(scene, { document: undefined, pipeline: 'p/warm' })))
    await submit(scene)
    await elect(held.app)
    const rows = await held.app.store.query.selectFrom('build').select(['id', 'pipeline_id', 'volume']).execute()
    const shared = rows.filter(({ pipeline_id: id, volume }) => id !== null && volume === `windlass-${id}`)
    const own = rows.filter(({ id, volume }) => volume === `windlass-${id}`)
    expect([shared.length, own.length]).toEqual([1, 2])
  })

  test('numbers concurrently created builds without gaps or duplicates', async () => {
    await using held = await openTestApp(database)
    const builds = await Promise.all(Array.from({ length: 30 }, () => submit({ app: held.app })))
    expect(builds.map(({ number }) => number).toSorted((a, b) => a - b)).toEqual(Array.from({ length: 30 }, (_, n) => n + 1))
  })

  test('never gives the same task to two concurrent claims', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await Promise.all(Array.from({ length: 40 }, () => submit(scene)))
    await elect(held.app)
    const signal = new AbortController().signal
    const lists = await Promise.all(
      Array.from({ length: 8 }, () => claim(held.app, scene.agentId, { epoch: scene.epoch, room: 10, waitMs: 0 }, signal)),
    )
    const ids = lists.flatMap(({ tasks }) => tasks).map(({ id }) => id)
    expect(new Set(ids).size).toBe(ids.length)
    const rest = await take(scene)
    expect(ids.length + rest.length).toBe(40)
  })

  test('hands out an unacknowledged task again with a higher revision', async () => {
    await using held = await openTestApp(database)
    const scene = await openScene(held.app)
    await submit(scene)
    await elect(held.app)
    const [first] = await take(scene)
    expect(await take(scene)).toEqual([])
    held.clock.advance(held.app.timings.taskLeaseMs + 1)
    const [again] = await take(scene)
    expect([first?.revision, again?.revision, again?.id]).toEqual([1, 2, first?.id])
  })

  test('hands out a task before its lease expires if the agent did not receive it', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    await Promise.all([submit(scene), submit(scene)])
    await elect(app)
    const [kept, lost] = await take(scene)
    const beat = (): ReturnType<typeof extendLease> =>
      extendLease(app, scene.agentId, { epoch: scene.epoch, tasks: [kept?.id ?? '', '0'.repeat(24)] })
    expect(await beat()).toMatchObject({ lost: ['0'.repeat(24)] })
    expect(await take(scene)).toEqual([])
    clock.advance(app.timings.taskLeaseMs / 4 + 1)
    await beat()
    expect((await take(scene)).map(({ id, revision }) => [id, revision])).toEqual([[lost?.id, 2]])
    clock.advance(app.timings.taskLeaseMs - 1)
    await beat()
    expect((await take(scene)).map(({ id }) => id)).not.toContain(kept?.id)
  })
})

describe('limits of two servers on one PostgreSQL', () => {
  test('apply to both', async () => {
    await using database = await DATABASES[1].open()
    const options = { ...(await database.fresh()), startsLoops: false }
    const [one, two] = [await openApp(options, () => ''), await openApp(options, () => '')]
    try {
      const scene = await openScene(one.app, { capacity: 5 })
      await putPipeline(two.app, {
        input: PipelineInput.parse({ name: 'p/two', document: HELLO, concurrency: 2 }),
        precondition: {},
      })
      for (let n = 0; n < 12; n += 1)
        await submit({ app: n % 2 === 0 ? one.app : two.app }, n < 6 ? { document: undefined, pipeline: 'p/two' } : {})
      await Promise.all([elect(one.app), elect(two.app), elect(one.app), elect(two.app)])
      const elected = (await one.app.store.query.selectFrom('build').select(['status', 'pipeline', 'reason']).execute()).filter(
        ({ status }) => status === 'elected',
      )
      expect(elected).toHaveLength(5)
      expect(elected.filter(({ pipeline }) => pipeline === 'p/two').length).toBeLessThanOrEqual(2)
      const waiting = await one.app.store.query.selectFrom('build').select('reason').where('status', '=', 'pending').execute()
      expect(waiting.every(({ reason }) => reason !== null)).toBe(true)
      expect(await take({ ...scene, app: two.app })).toHaveLength(5)
    } finally {
      await one.close()
      await two.close()
    }
  })

  test('applies the pipeline limit to a build submitted while an election waits for a lock', async () => {
    await using database = await DATABASES[1].open()
    const options = { ...(await database.fresh()), startsLoops: false }
    const [one, two] = [await openApp(options, () => ''), await openApp(options, () => '')]
    try {
      await openScene(one.app)
      const put = (name: string): Promise<unknown> =>
        putPipeline(one.app, { input: PipelineInput.parse({ name, document: HELLO, concurrency: 1 }), precondition: {} })
      await put('p/held')
      await put('p/single')
      await submit({ app: one.app }, { document: undefined, pipeline: 'p/single' })
      await elect(one.app)
      await submit({ app: one.app }, { document: undefined, pipeline: 'p/held' })
      let election: Promise<void> | undefined
      await two.app.store.write(async (tx) => {
        await lockPipeline(tx, two.app.accountId, 'p/held')
        election = elect(one.app)
        await untilBlocked(two.app.store.query)
        // In another transaction, because this one holds the lock.
        await submit({ app: two.app }, { document: undefined, pipeline: 'p/single' })
      })
      await election
      const rows = await one.app.store.query.selectFrom('build').select(['status', 'pipeline']).orderBy('number').execute()
      expect(rows).toEqual([
        { pipeline: 'p/single', status: 'elected' },
        { pipeline: 'p/held', status: 'elected' },
        { pipeline: 'p/single', status: 'pending' },
      ])
    } finally {
      await one.close()
      await two.close()
    }
  })
})

/** Resolves when a statement waits for a lock. Other tests use other databases of the same PostgreSQL. */
async function untilBlocked(query: Query): Promise<void> {
  for (;;) {
    const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity
      where datname = current_database() and wait_event_type = 'Lock'`.execute(query)
    if (rows.length > 0) return
    await systemClock.sleep(10)
  }
}
