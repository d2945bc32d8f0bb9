/** Frequent queries must not read thousands of ended builds. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { sweep } from '../../../src/builds/lifecycle/ends/sweep.ts'
import { toFullBuild } from '../../../src/builds/lifecycle/view.ts'
import { retain } from '../../../src/retention.ts'
import { listShownRuntimes } from '../../../src/runtimes/show-runtimes.ts'
import type { BuildFilter } from '../../../src/store/builds/lists/build-filter.ts'
import { countBuildsBy, listBuilds } from '../../../src/store/builds/lists/build-lists.ts'
import { findBuild } from '../../../src/store/builds/builds.ts'
import { claim } from '../../../src/tasks/claim.ts'
import { fillStore, freeOne } from '../../support/full-store.ts'
import { readsTooMuch, record } from '../../support/rows-read.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'

const SIZE = { builds: 20_000, waiting: 300, pipelines: 20 }
/** Far more than waits and runs, far less than has ended. */
const MAX_ROWS = 1_500
const LIMIT = 50
const PIPELINE = `${'f'.repeat(15)}100000003`

describe.each(DATABASES)('a store full of builds on $name', ({ open }) => {
  let database: Database
  let held: TestApp
  let ids: { waiting: string; ended: string }
  beforeAll(async () => {
    database = await open()
    held = await openTestApp(database)
    ids = await fillStore(held.app, SIZE)
    await elect(held.app)
  })
  afterAll(async () => {
    await held[Symbol.asyncDispose]()
    await database[Symbol.asyncDispose]()
  })

  const list =
    ({ before, ...filter }: Partial<BuildFilter> & { readonly before?: number | undefined }) =>
    async (app: App) =>
      (await listBuilds(app.store.query, { accountId: app.accountId, ...filter }, { before, limit: LIMIT })).rows
  const show = async (app: App, id: string): Promise<unknown> => {
    const row = await findBuild(app.store.query, app.accountId, id)
    return row === undefined ? Promise.reject(new Error(`no build ${id}`)) : toFullBuild(app, row)
  }
  const QUERIES: readonly (readonly [string, (app: App) => Promise<unknown>])[] = [
    ['an election in which nothing can start', elect],
    ['a sweep', (app) => sweep(app, true)],
    ['retention with nothing due', retain],
    ['the runtimes', listShownRuntimes],
    ['the metrics', (app) => app.metricsPage()],
    ['a poll of an agent', pollOfAgent],
    ['the newest builds', list({})],
    ['a page far back', list({ before: SIZE.builds / 2 })],
    ['the builds of a pipeline', list({ pipelines: [{ id: PIPELINE }] })],
    ['the builds of a pipeline with an unknown name', list({ pipelines: [{ name: 'none' }] })],
    ['the builds of an unknown branch', list({ branches: ['none'] })],
    ['the builds of a branch of a pipeline', list({ pipelines: [{ id: PIPELINE }], branches: ['none'] })],
    ['the running builds', list({ status: ['running'] })],
    ['builds in several rare states', list({ status: ['delayed', 'elected', 'terminating'] })],
    ['the failed builds of a pipeline', list({ status: ['error'], pipelines: [{ id: PIPELINE }] })],
    ['the builds of several branches of several pipelines', list({ pipelines: [{ id: PIPELINE }], branches: ['none', 'nil'] })],
    ['the builds of a commit', list({ revision: 'abcdef12' })],
    ['a build by its number', list({ number: 77 })],
    ['the builds of a pipeline that a user started', list({ pipelines: [{ id: PIPELINE }], initiators: ['nobody'] })],
    ['the running builds with a text', list({ status: ['running'], text: 'none' })],
    ['the builds after a time', list({ from: 4_000_000_000_000 })],
    [
      'the running builds by pipeline',
      (app) => countBuildsBy(app.store.query, { accountId: app.accountId, status: ['running'] }, 'pipeline'),
    ],
    ['a build that waits', (app) => show(app, ids.waiting)],
    ['a build that ended', (app) => show(app, ids.ended)],
  ]

  test.each(QUERIES)('does not read ended builds: %s', async (_, ask) => {
    const { app } = held
    const asked = await record(() => ask(app))
    expect(asked).not.toEqual([])
    const found = []
    for (const one of asked) found.push(...(await readsTooMuch(app, one, MAX_ROWS)).map((problem) => `${problem}: ${one.text}`))
    expect(found).toEqual([])
  })

  test('reads the row of one build in an election that starts one build', async () => {
    const { app } = held
    expect(await freeOne(app)).toBe(true)
    const asked = await record(() => elect(app))
    const rows = asked.filter(({ text }) => text.startsWith('select * from "build" where "status"'))
    expect(rows).toHaveLength(1)
    expect(await app.store.query.selectFrom('attempt').select('build_id').where('status', '=', 'created').execute()).toHaveLength(
      1,
    )
  })

  test('lists the newest builds of several states in order', async () => {
    const { app } = held
    const states = ['error', 'terminated', 'pending'] as const
    const all = await app.store.query
      .selectFrom('build')
      .select('number')
      .where('status', 'in', states)
      .orderBy('number', 'desc')
      .execute()
    const numbers = all.map(({ number }) => number)
    const before = numbers[SIZE.waiting + 10]
    const page = async (cursor?: number) => (await list({ status: states, before: cursor })(app)).map(({ number }) => number)
    expect(await page()).toEqual(numbers.slice(0, LIMIT))
    expect(await page(before)).toEqual(numbers.slice(SIZE.waiting + 11, SIZE.waiting + 11 + LIMIT))
  })
})

async function pollOfAgent(app: App): Promise<unknown> {
  const agent = await app.store.query.selectFrom('agent').selectAll().where('name', '=', 'agent').executeTakeFirstOrThrow()
  return (await claim(app, agent.id, { epoch: agent.epoch, room: 10, waitMs: 0 }, new AbortController().signal)).tasks
}
