/** Quotas of projects: concurrent builds, and what is kept of builds and logs. */
import { PipelineInput, ProjectQuotasInput } from '@windlass/protocol'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { readQueue } from '../../../src/builds/list/queue.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { putProject, putQuotas } from '../../../src/pipelines/projects.ts'
import { retain } from '../../../src/retention.ts'
import { findProject } from '../../../src/store/pipelines/projects.ts'
import { findExcessLog } from '../../../src/store/retention.ts'
import {
  ended,
  HELLO,
  openScene,
  report,
  runAttempt,
  say,
  started,
  submit,
  take,
  writeLog,
  type Scene,
} from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const DAY_MS = 86_400_000

async function put(app: App, name: string): Promise<void> {
  await putPipeline(app, { input: PipelineInput.parse({ name, document: HELLO }), precondition: {} })
}

async function setQuotas(app: App, project: string, quotas: object): Promise<void> {
  await putQuotas(app, project, ProjectQuotasInput.parse(quotas))
}

/** Runs builds of the pipelines to their end, each with a log of ten bytes. */
async function runBuilds(scene: Scene, pipelines: readonly (string | undefined)[]): Promise<void> {
  const { app } = scene
  for (const pipeline of pipelines) {
    const key = await runAttempt(scene, await submit(scene, pipeline === undefined ? {} : { pipeline, document: undefined }))
    await writeLog(app, key, { offset: 0, text: '0123456789' })
    await say(app, key, started, ended('success'))
    for (const task of await take(scene)) await report(scene, task, 'done')
  }
}

/** Returns the numbers of the builds and of those that have a log. */
async function kept(app: App): Promise<{ builds: number[]; logs: number[] }> {
  const rows = await app.store.query.selectFrom('build').select(['id', 'number', 'logs_expired_at']).orderBy('number').execute()
  const chunks = await app.store.query.selectFrom('chunk').select('build_id').distinct().execute()
  const withLog = new Set(chunks.map(({ build_id: id }) => id))
  for (const { id, logs_expired_at: expiredAt } of rows) if (withLog.has(id)) expect(expiredAt).toBeNull()
  return { builds: rows.map(({ number }) => number), logs: rows.filter(({ id }) => withLog.has(id)).map(({ number }) => number) }
}

/** Makes the database refuse to delete the builds of a project. */
async function refuseDeletes({ store }: App, projectId: string): Promise<void> {
  const id = sql.lit(projectId)
  if (store.name === 'sqlite') {
    const raise = sql`begin select raise(abort, 'refused'); end`
    await sql`create trigger refused before delete on build when old.project_id = ${id} ${raise}`.execute(store.query)
    return
  }
  const raise = sql`begin raise exception 'refused'; end`
  await sql`create function refuse() returns trigger language plpgsql as $$ ${raise} $$`.execute(store.query)
  const when = sql`for each row when (old.project_id = ${id}) execute function refuse()`
  await sql`create trigger refused before delete on build ${when}`.execute(store.query)
}

describe.each(DATABASES)('quotas of projects on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('at most so many builds of a project run, and the others show which builds hold the limit', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    for (const name of ['shop/one', 'shop/two', 'blog/site']) await put(app, name)
    await setQuotas(app, 'shop', { concurrency: 2 })
    const of = (pipeline: string): object => ({ pipeline, document: undefined })
    const holders = [await submit(scene, of('shop/one')), await submit(scene, of('shop/two'))]
    const waiting = await submit(scene, of('shop/one'))
    await submit(scene, of('blog/site'))
    await elect(app)
    expect(await readQueue(app, undefined)).toMatchObject({
      waiting: 1,
      items: [
        {
          reason: 'project-limit',
          project: 'shop',
          message: 'The project shop runs 2 of at most 2 builds.',
          used: 2,
          limit: 2,
          holders: holders.map(({ id }) => ({ id })),
          builds: [{ id: waiting.id }],
        },
      ],
    })
    await setQuotas(app, 'shop', { concurrency: 3 })
    await elect(app)
    // The queue is read at most once a second.
    clock.advance(1000)
    expect(await readQueue(app, undefined)).toEqual({ waiting: 0, items: [] })
  })

  test('a quota for days replaces the setting of the server, for its project only', async () => {
    await using held = await openTestApp(database, { retention: { logDays: 2, buildDays: 4 } })
    const { app, clock } = held
    const scene = await openScene(app)
    for (const name of ['shop/app', 'blog/site', 'long/app']) await put(app, name)
    await setQuotas(app, 'shop', { logDays: 1, buildDays: 3 })
    await setQuotas(app, 'long', { logDays: 30, buildDays: 60 })
    await runBuilds(scene, ['shop/app', 'blog/site', undefined, 'long/app'])
    const after = async (days: number) => {
      clock.advance(days * DAY_MS + 1)
      await retain(app)
      return kept(app)
    }
    expect(await after(1)).toEqual({ builds: [1, 2, 3, 4], logs: [2, 3, 4] })
    expect(await after(1)).toEqual({ builds: [1, 2, 3, 4], logs: [4] })
    expect(await after(1)).toEqual({ builds: [2, 3, 4], logs: [4] })
    expect(await after(1)).toEqual({ builds: [4], logs: [4] })
    expect(await after(26)).toEqual({ builds: [4], logs: [] })
  })

  test('quotas for builds and bytes of logs delete the oldest that have ended', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    for (const name of ['shop/app', 'shop/other', 'blog/site']) await put(app, name)
    await runBuilds(scene, ['shop/app', 'blog/site', 'shop/other', 'shop/app', 'shop/app'])
    const running = await submit(scene, { pipeline: 'shop/app', document: undefined })
    await say(app, await runAttempt(scene, running), started)
    await setQuotas(app, 'shop', { maxLogBytes: 25 })
    await retain(app)
    expect(await kept(app)).toMatchObject({ logs: [2, 4, 5], builds: [1, 2, 3, 4, 5, 6] })
    await setQuotas(app, 'shop', { maxLogBytes: 20, maxBuilds: 3 })
    await retain(app)
    expect(await kept(app)).toMatchObject({ logs: [2, 4, 5], builds: [2, 3, 4, 5, 6] })
    await setQuotas(app, 'shop', { maxLogBytes: 9, maxBuilds: 1 })
    await retain(app)
    expect(await kept(app)).toMatchObject({ logs: [2], builds: [2, 5, 6] })
  })

  test('a deletion that fails for one project does not keep the other deletions from running', async () => {
    await using held = await openTestApp(database, { retention: { logDays: 30, buildDays: 60 } })
    const { app } = held
    const scene = await openScene(app)
    for (const name of ['blog/site', 'shop/app']) await put(app, name)
    await runBuilds(scene, ['blog/site', 'blog/site', 'shop/app', 'shop/app'])
    for (const project of ['blog', 'shop']) await setQuotas(app, project, { maxBuilds: 1 })
    const blog = await findProject(app.store.query, app.accountId, 'blog')
    await refuseDeletes(app, blog?.id ?? '')
    await app.store.query
      .insertInto('reply')
      .values({ account_id: app.accountId, actor_id: 'c', key: 'k', request_hash: 'h', status: 200, body: null, created_at: 0 })
      .execute()
    await retain(app)
    expect((await kept(app)).builds).toEqual([1, 2, 4])
    expect(await app.store.query.selectFrom('reply').selectAll().execute()).toEqual([])
  })

  test('sums the logs of more builds than one statement reads', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app, 'shop/app')
    await runBuilds(await openScene(app), ['shop/app'])
    const build = await app.store.query.selectFrom('build').selectAll().executeTakeFirstOrThrow()
    const stream = await app.store.query.selectFrom('stream').selectAll().executeTakeFirstOrThrow()
    await app.store.write(async (tx) => {
      for (let number = 2; number <= 601; number += 1) {
        const id = `copy-${number}`
        await tx.query
          .insertInto('build')
          .values({ ...build, id, number })
          .execute()
        await tx.query
          .insertInto('stream')
          .values({ ...stream, build_id: id })
          .execute()
      }
    })
    const find = async (maxBytes: number) => findExcessLog(app.store.query, build.project_id ?? '', maxBytes)
    expect(await find(25)).toBe(599)
    expect(await find(5500)).toBe(51)
    expect(await find(6009)).toBe(1)
    expect(await find(6010)).toBeUndefined()
  })

  test('replacing a project keeps its quotas', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await putProject(app, { input: { name: 'shop', variables: {} }, mustBeNew: true })
    await setQuotas(app, 'shop', { concurrency: 2, maxBuilds: 10 })
    const { project } = await putProject(app, { input: { name: 'shop', variables: { a: 'b' } }, mustBeNew: false })
    expect(project).toMatchObject({ variables: { a: 'b' }, quotas: { concurrency: 2, maxBuilds: 10 } })
    await setQuotas(app, 'shop', { logDays: 3 })
    expect((await putProject(app, { input: { name: 'shop', variables: {} }, mustBeNew: false })).project.quotas).toEqual({
      logDays: 3,
    })
    await expect(setQuotas(app, 'none', {})).rejects.toMatchObject({ code: 'not-found' })
  })
})
