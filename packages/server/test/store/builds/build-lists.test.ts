/** Filters, counts and items of lists of builds. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { BuildCountsQuery, BuildQuery, PipelineInput, type Build } from '@windlass/protocol'
import type { App } from '../../../src/app.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import { countBuilds, listBuildPage } from '../../../src/builds/list/list-builds.ts'
import { explainWaits } from '../../../src/builds/list/waits.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { findProject } from '../../../src/store/pipelines/projects.ts'
import { findBuild } from '../../../src/store/builds/builds.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import { ended, HELLO, openScene, report, runAttempt, say, started, stepDone, submit, take } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import { findPipeline } from '../../../src/store/pipelines/pipelines.ts'
import { listBuilds } from '../../../src/store/builds/lists/build-lists.ts'
import { listQueued } from '../../../src/store/builds/queue.ts'
import type { Places } from '../../../src/store/places.ts'

const COMMIT = 'abcdef0123456789abcdef0123456789abcdef01'

async function list(app: App, query: object = {}, seen?: Places): Promise<Build[]> {
  return (await listBuildPage(app, BuildQuery.parse(query), seen)).items
}

async function numbers(app: App, query: object = {}, seen?: Places): Promise<number[]> {
  return (await list(app, query, seen)).map(({ number }) => number)
}

async function put(app: App, name: string, more: object = {}): Promise<void> {
  await putPipeline(app, { input: PipelineInput.parse({ name, document: HELLO, ...more }), precondition: {} })
}

describe.each(DATABASES)('lists of builds on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('filters builds by every field, alone and together', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await openScene(app)
    await put(app, 'shop/app')
    await put(app, 'blog/site')
    const commit = { revision: COMMIT, git: { commitMessage: 'Fix the Tax\n\nand more', commitAuthor: 'mira' } }
    await submit({ app }, { pipeline: 'shop/app', document: undefined, branch: 'main', trigger: 'push', ...commit })
    clock.advance(60_000)
    const second = clock.now()
    await submit({ app }, { pipeline: 'blog/site', document: undefined, branch: 'next', runtime: 'local' })
    clock.advance(60_000)
    await submit({ app }, { document: 'steps: 5', branch: 'fix_100%' })
    const expectations: readonly (readonly [object, number[]])[] = [
      [{}, [3, 2, 1]],
      [{ project: 'shop' }, [1]],
      [{ project: ['shop', 'blog'] }, [2, 1]],
      [{ project: 'none' }, []],
      [{ pipeline: ['shop/app', 'blog/site', 'none'] }, [2, 1]],
      [{ branch: ['main', 'next'], status: 'pending' }, [2, 1]],
      [{ branch: 'main', pipeline: 'blog/site' }, []],
      [{ status: 'error,pending' }, [3, 2, 1]],
      [{ initiator: 'tester' }, [3, 2, 1]],
      [{ initiator: 'nobody' }, []],
      [{ trigger: 'push' }, [1]],
      [{ runtime: 'local', project: 'blog' }, [2]],
      [{ reason: 'invalid-pipeline' }, [3]],
      [{ reason: ['invalid-pipeline', 'queued'] }, [3, 2, 1]],
      [{ revision: 'ABCDEF01' }, [1]],
      [{ revision: COMMIT }, [1]],
      [{ revision: 'abc' }, []],
      [{ number: 2 }, [2]],
      [{ number: 2, branch: 'main' }, []],
      [{ from: second }, [3, 2]],
      [{ to: second }, [1]],
      [{ from: second, to: second + 1 }, [2]],
      [{ from: second + 3_600_000 }, []],
      [{ q: 'fix the' }, [1]],
      [{ q: 'and more' }, []],
      [{ q: 'FIX' }, [3, 1]],
      [{ q: '100%' }, [3]],
      [{ q: '1_0' }, []],
      [{ q: 'abcdef' }, [1]],
      [{ q: '2' }, [2]],
      [{ q: '#3' }, [3]],
      [{ q: ' ' }, [3, 2, 1]],
    ]
    for (const [query, found] of expectations) expect([query, await numbers(app, query)]).toEqual([query, found])
    expect((await list(app, { number: 1 }))[0]).toMatchObject({ commit: { message: 'Fix the Tax', author: 'mira' } })
  })

  test('shows only builds of the projects that the caller may see', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    await put(app, 'shop/app')
    await put(app, 'blog/site')
    for (const pipeline of ['shop/app', 'blog/site', 'shop/app']) await submit({ app }, { pipeline, document: undefined })
    await submit({ app })
    const shop = (await findProject(app.store.query, app.accountId, 'shop'))?.id ?? ''
    const inShop = { projects: [shop], pipelines: [] }
    expect(await numbers(app, {}, inShop)).toEqual([3, 1])
    expect(await numbers(app, { project: ['blog', 'shop'] }, inShop)).toEqual([3, 1])
    expect(await numbers(app, { project: 'blog' }, inShop)).toEqual([])
    expect(await numbers(app, { number: 2 }, inShop)).toEqual([])
    expect(await numbers(app, {}, { projects: [], pipelines: [] })).toEqual([])
    const counts = await countBuilds(app, BuildCountsQuery.parse({ by: 'pipeline' }), inShop)
    expect(counts).toEqual({ items: [{ value: 'shop/app', count: 2 }], isExact: true })
  })

  test('shows builds of projects and of pipelines once', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    for (const name of ['shop/app', 'shop/second', 'blog/site', 'blog/ads']) await put(app, name)
    for (const pipeline of ['shop/app', 'shop/second', 'blog/site', 'blog/ads', 'shop/app', 'blog/site'])
      await submit({ app }, { pipeline, document: undefined })
    await submit({ app })
    const idOf = async (name: string): Promise<string> => (await findPipeline(app.store.query, app.accountId, name))?.id ?? ''
    const shop = (await findProject(app.store.query, app.accountId, 'shop'))?.id ?? ''
    const places = { projects: [shop], pipelines: [await idOf('shop/app'), await idOf('blog/site')] }
    expect(await numbers(app, {}, places)).toEqual([6, 5, 3, 2, 1])
    expect(await numbers(app, { q: 'hello' }, places)).toEqual([])
    expect(await numbers(app, { project: 'blog' }, places)).toEqual([6, 3])
    expect(await numbers(app, { project: 'shop' }, { projects: [], pipelines: places.pipelines })).toEqual([5, 1])
    expect(await numbers(app, { pipeline: ['shop/second', 'blog/ads'] }, places)).toEqual([2])
    const { rows } = await listBuilds(app.store.query, { accountId: app.accountId, places }, { limit: 2 })
    expect(rows.map(({ number }) => number)).toEqual([6, 5])
    const { items } = await countBuilds(app, BuildCountsQuery.parse({ by: 'pipeline' }), places)
    expect(items.map(({ value, count }) => `${value} ${count}`)).toEqual(['blog/site 2', 'shop/app 2', 'shop/second 1'])
    // More values than a statement has parts are compared row by row.
    const many = { ...places, pipelines: [...places.pipelines, ...Array.from({ length: 80 }, (_, n) => `none-${n}`)] }
    expect(await numbers(app, {}, many)).toEqual([6, 5, 3, 2, 1])
    expect(await listQueued(app.store.query, { accountId: app.accountId, places })).toHaveLength(5)
  })

  test('lists and counts builds for callers with hundreds of roles', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    for (const name of ['shop/app', 'blog/site', 'blog/ads']) {
      await put(app, name)
      await submit({ app }, { pipeline: name, document: undefined })
    }
    const shop = (await findProject(app.store.query, app.accountId, 'shop'))?.id ?? ''
    const site = (await findPipeline(app.store.query, app.accountId, 'blog/site'))?.id ?? ''
    const none = (count: number): string[] => Array.from({ length: count }, (_, n) => `none-${n}`)
    for (const count of [30, 60, 100, 1000]) {
      const places = { projects: [shop, ...none(count - 1)], pipelines: [site, ...none(count - 1)] }
      expect([count, await numbers(app, {}, places)]).toEqual([count, [2, 1]])
      const many = { status: 'pending,running,success', branch: ['main', ...none(49)], project: ['shop', 'blog', ...none(48)] }
      expect([count, await numbers(app, many, places)]).toEqual([count, []])
      const { items } = await countBuilds(app, BuildCountsQuery.parse({ by: 'pipeline' }), places)
      expect([count, items.map(({ value }) => value)]).toEqual([count, ['blog/site', 'shop/app']])
    }
  })

  test('continues after pages whose builds do not match', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    const { id } = await submit({ app }, { branch: 'needle' })
    await copyBuilds(app, id, 25_000)
    let cursor: string | undefined
    const found: number[] = []
    const sizes: number[] = []
    do {
      const page = await listBuildPage(app, BuildQuery.parse({ q: 'needle', ...(cursor && { cursor }) }), undefined)
      found.push(...page.items.map(({ number }) => number))
      sizes.push(page.items.length)
      cursor = page.next
    } while (cursor !== undefined)
    expect(found).toEqual([1])
    expect(sizes.slice(0, -1).every((size) => size === 0)).toBe(true)
    expect(sizes.length).toBeLessThanOrEqual(4)
  })

  test('counts builds by each field with the same filters as the list', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    await put(app, 'shop/app')
    for (const branch of ['main', 'main', 'next']) await submit({ app }, { pipeline: 'shop/app', document: undefined, branch })
    await submit({ app }, { document: 'steps: 5', branch: 'main' })
    const count = async (query: object) => countBuilds(app, BuildCountsQuery.parse(query), undefined)
    expect(await count({ by: 'status' })).toEqual({
      items: [
        { value: 'pending', count: 3 },
        { value: 'error', count: 1 },
      ],
      isExact: true,
    })
    expect(await count({ by: 'branch', project: 'shop' })).toMatchObject({
      items: [
        { value: 'main', count: 2 },
        { value: 'next', count: 1 },
      ],
    })
    expect((await count({ by: 'pipeline' })).items).toEqual([{ value: 'shop/app', count: 3 }])
    expect((await count({ by: 'initiator', status: 'error' })).items).toEqual([{ value: 'tester', count: 1 }])
    expect((await count({ by: 'reason', branch: 'main', q: 'main' })).items).toHaveLength(2)
  })

  test('says that counts are not exact when it counted only the newest builds', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await openScene(app)
    const { id } = await submit({ app }, { branch: 'old' })
    await copyBuilds(app, id, 10_500)
    const counts = await countBuilds(app, BuildCountsQuery.parse({ by: 'branch' }), undefined)
    expect(counts).toEqual({ items: [{ value: 'copied', count: 10_000 }], isExact: false })
  })

  test('shows how far builds are, also after a loss and when they have ended', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene)
    const progress = async (): Promise<unknown> => (await list(app))[0]?.progress
    expect(await progress()).toEqual({ total: 2, done: 0, failed: 0 })
    const key = await runAttempt(scene, build)
    await say(app, key, started, { type: 'step.started', step: 'one', try: 1 })
    expect(await progress()).toEqual({ total: 2, done: 0, failed: 0, current: 'one' })
    await say(app, key, stepDone('one'), { type: 'step.started', step: 'two', try: 1 })
    expect(await progress()).toEqual({ total: 2, done: 1, failed: 0, current: 'two' })
    await say(
      app,
      key,
      { type: 'step.finished', step: 'two', try: 1, status: 'error', reason: 'exit-code', members: {}, exports: [] },
      ended('error', { reason: 'exit-code' }),
    )
    expect(await progress()).toEqual({ total: 2, done: 2, failed: 1 })
  })

  test('shows the usual time of builds that run: the median of the last 20 successful builds of their pipeline', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    await put(app, 'shop/app')
    const run = async (seconds: number, status: 'success' | 'error' = 'success'): Promise<void> => {
      const key = await runAttempt(scene, await submit(scene, { pipeline: 'shop/app', document: undefined }))
      await say(app, key, started)
      clock.advance(seconds * 1_000)
      await say(app, key, ended(status))
      for (const task of await take(scene)) await report(scene, task, 'done')
    }
    for (const seconds of [9, 2, 7, 4]) await run(seconds)
    await run(50, 'error')
    const first = await submit(scene, { pipeline: 'shop/app', document: undefined })
    const key = await runAttempt(scene, first)
    await say(app, key, started)
    expect((await list(app, { number: first.number }))[0]).not.toHaveProperty('usualMs')
    await run(3)
    clock.advance(60_000)
    expect((await list(app, { number: first.number }))[0]?.usualMs).toBe(4_000)
    await say(app, key, ended('success'))
    expect((await list(app, { number: first.number }))[0]).not.toHaveProperty('usualMs')
  })

  test('shows that the debugger holds a step of a build, and since when', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    await say(app, key, started, { type: 'step.started', step: 'one', try: 1 })
    expect((await list(app))[0]?.waiting).toBeUndefined()
    await say(app, key, { type: 'step.waiting', step: 'one', reason: 'debugger', phase: 'before' })
    const [item] = await list(app)
    expect(item).toMatchObject({ status: 'running', waiting: { reason: 'debugger', since: expect.any(Number) } })
    expect(item?.progress).toEqual({ total: 2, done: 0, failed: 0, current: 'one' })
  })

  test('shows what builds wait for: the limit, its holders and the place', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await put(app, 'shop/app', { concurrency: 1 })
    const holder = await submit(scene, { pipeline: 'shop/app', document: undefined })
    await runAttempt(scene, holder)
    const waiting: BuildRow[] = []
    for (let n = 0; n < 3; n += 1) waiting.push(await submit(scene, { pipeline: 'shop/app', document: undefined }))
    await elect(app)
    const items = await list(app, { status: 'pending' })
    expect(items.map((item) => item.waiting)).toMatchObject([
      { reason: 'pipeline-limit', used: 1, limit: 1, place: 3, holders: [{ id: holder.id, number: 1 }] },
      { place: 2 },
      { place: 1, since: waiting[0]?.queued_at },
    ])
    expect((await list(app, { number: 1 }))[0]?.waiting).toBeUndefined()
    const row = await findBuild(app.store.query, app.accountId, waiting[0]?.id ?? '')
    const unseen = await explainWaits(app, row === undefined ? [] : [row], { projects: ['another-project'], pipelines: [] })
    expect([...unseen.values()]).toMatchObject([{ used: 1, limit: 1, holders: [] }])
  })
})

/** Copies a build with SQL, under the branch `copied`. */
async function copyBuilds(app: App, id: string, count: number): Promise<void> {
  const row = await app.store.query.selectFrom('build').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
  for (let from = 0; from < count; from += 400) {
    const rows = Array.from({ length: Math.min(400, count - from) }, (_, n) => {
      const number = from + n + 2
      return { ...row, id: number.toString(16).padStart(24, '0'), number, branch: 'copied', status: 'success' as const }
    })
    await app.store.query.insertInto('build').values(rows).execute()
  }
}
