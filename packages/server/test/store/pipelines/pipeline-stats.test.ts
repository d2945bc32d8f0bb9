/** Statistics of a pipeline from stored builds. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId, sha256 } from '@windlass/kit'
import { PipelineInput } from '@windlass/protocol'
import { readPipelineStats } from '../../../src/pipelines/stats.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { retain } from '../../../src/retention.ts'
import { ended, HELLO, openScene, report, runAttempt, say, started, stepDone, submit, take } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const DAY = 86_400_000

describe.each(DATABASES)('statistics on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('counts ended builds with their waits and the tries of their steps, until retention deletes them', async () => {
    await using held = await openTestApp(database, { retention: { buildDays: 40, logDays: 40 } as never })
    const { app, clock } = held
    const scene = await openScene(app, {
      dockerDaemonScheduler: { defaultDindResources: { requests: { memory: '1Gi' } } },
    })
    await putPipeline(app, { input: PipelineInput.parse({ name: 'shop/app', document: HELLO }), precondition: {} })
    for (const [index, branch] of ['main', 'main', 'next'].entries()) {
      const build = await submit(scene, { pipeline: 'shop/app', document: undefined, branch })
      clock.advance(4000)
      const key = await runAttempt(scene, build)
      await say(app, key, started, { type: 'step.started', step: 'one', try: 1 })
      await say(app, key, { ...failed('one'), usage: { memoryPeakBytes: 1000 } } as never)
      await say(app, key, { type: 'step.started', step: 'one', try: 2 }, { ...stepDone('one'), try: 2 } as never)
      clock.advance(10_000 * (index + 1))
      await say(app, key, ended(index === 2 ? 'error' : 'success'))
      for (const task of await take(scene)) await report(scene, task, 'done')
    }
    const stats = await readPipelineStats(app, 'shop/app', {})
    expect(stats).toMatchObject({
      isExact: true,
      builds: { total: 3, success: 2, error: 1, terminated: 0 },
      duration: { count: 2, p50Ms: 10_000, p95Ms: 20_000 },
      wait: { count: 3, p50Ms: 4000 },
      waits: [{ cause: 'queued', count: 3, totalMs: 12_000 }],
      steps: [{ step: 'one', count: 3, failed: 3, memoryP95: 1000 }],
      flaky: [{ step: 'one', builds: 3, of: 3 }],
    })
    expect((await readPipelineStats(app, 'shop/app', { branch: 'next' })).builds).toMatchObject({ total: 1, error: 1 })
    expect((await readPipelineStats(app, 'shop/app', { from: 1, to: 2 })).builds.total).toBe(0)
    await expect(readPipelineStats(app, 'shop/app', { from: 2, to: 1 })).rejects.toMatchObject({ code: 'request-invalid' })
    await expect(readPipelineStats(app, 'none', {})).rejects.toMatchObject({ code: 'not-found' })
    clock.advance(400 * DAY)
    await retain(app)
    for (const table of ['ended_step', 'build_wait'] as const)
      expect(await app.store.query.selectFrom(table).selectAll().execute()).toEqual([])
  })

  test('leaves out steps after 16 MB of exports, and says that the statistics are not exact', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await putPipeline(app, { input: PipelineInput.parse({ name: 'shop/app', document: HELLO }), precondition: {} })
    const build = await submit(scene, { pipeline: 'shop/app', document: undefined })
    const key = await runAttempt(scene, build)
    await say(app, key, started)
    for (const step of ['one', 'two', 'three', 'four'])
      await say(app, key, { type: 'step.started', step, try: 1 } as never, stepDone(step))
    const { query } = app.store
    const finished = await query
      .selectFrom('event')
      .select(['position', 'data'])
      .where('type', '=', 'step.finished')
      .orderBy('position')
      .execute()
    // All but the last one have large exports.
    for (const { position, data } of finished.slice(0, 3)) {
      const long = JSON.stringify({ ...(JSON.parse(data) as object), exports: ['x'.repeat(7_000_000)] })
      await query
        .updateTable('event')
        .set({ data: long })
        .where('build_id', '=', build.id)
        .where('position', '=', position)
        .execute()
    }
    await say(app, key, ended('success'))
    const stats = await readPipelineStats(app, 'shop/app', {})
    expect(stats.isExact).toBe(false)
    expect(stats.steps.map(({ step }) => step).toSorted()).toEqual(['four', 'one', 'two'])
    expect(stats.waits.map(({ cause }) => cause)).not.toContain('left-out')
  })

  test('retention deletes the rows that an older server left of a deleted build and of its log', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    const { query } = app.store
    const bytes = Buffer.from('one\n')
    await app.logs.append({ ...key, stream: 'step/one', offset: 0, at: 1, bytes, sha256: sha256(bytes) })
    const gone = Array.from({ length: 450 }, () => newId(1))
    for (const id of [...gone, build.id]) {
      const own = { build_id: id, account_id: app.accountId }
      const step = { attempt: 1, step: 'one', try: 1, pipeline_id: 'p', status: 'success', reason: null } as const
      const numbers = { started_at: 1, finished_at: 2, memory_bytes: null, cpu_ms: null }
      await query
        .insertInto('ended_step')
        .values({ ...own, ...step, ...numbers })
        .execute()
      await query
        .insertInto('build_wait')
        .values({ ...own, reason: 'queued', waited_ms: 1 })
        .execute()
      const marks = { build_id: id, attempt: 1, stream: 'step/one', version: 0, bytes: 0, state: '{}' }
      await query.insertInto('stream_marks').values(marks).execute()
    }
    await retain(app)
    for (const table of ['ended_step', 'build_wait', 'stream_marks'] as const)
      expect(await query.selectFrom(table).select('build_id').execute()).toEqual([{ build_id: build.id }])
  })
})

function failed(step: string): object {
  return { ...stepDone(step), status: 'error', reason: 'exit-code', exitCode: 1 }
}
