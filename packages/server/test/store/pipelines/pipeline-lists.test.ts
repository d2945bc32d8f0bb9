/** Lists of pipelines with their last builds. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { PipelineInput, PipelineQuery } from '@windlass/protocol'
import { newId } from '@windlass/kit'
import type { Places } from '../../../src/store/places.ts'
import type { App } from '../../../src/app.ts'
import { listPipelinePage } from '../../../src/pipelines/list-pipelines.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { findProject } from '../../../src/store/pipelines/projects.ts'
import { record } from '../../support/rows-read.ts'
import { ended, HELLO, openScene, runAttempt, say, started, submit } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

async function put(app: App, name: string): Promise<void> {
  await putPipeline(app, { input: PipelineInput.parse({ name, document: HELLO }), precondition: {} })
}

async function names(app: App, query: object, seen?: Places): Promise<string[]> {
  return (await listPipelinePage(app, PipelineQuery.parse(query), seen)).items.map(({ name }) => name)
}

describe.each(DATABASES)('lists of pipelines on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('finds pipelines by a part of their names and by project, as far as the caller may see them', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    for (const name of ['shop/app', 'shop/A_pp', 'infra/app', 'lone']) await put(app, name)
    const shop = (await findProject(app.store.query, app.accountId, 'shop'))?.id ?? ''
    expect((await names(app, { q: 'APP' })).toSorted()).toEqual(['infra/app', 'shop/app'])
    expect(await names(app, { q: 'a_p' })).toEqual(['shop/A_pp'])
    expect(await names(app, { project: 'infra' })).toEqual(['infra/app'])
    expect(await names(app, { project: 'infra' }, { projects: [shop], pipelines: [] })).toEqual([])
    expect(await names(app, { project: 'none' })).toEqual([])
    expect((await names(app, { q: 'app' }, { projects: [shop], pipelines: [] })).toSorted()).toEqual(['shop/app'])
    expect(await names(app, {}, { projects: [], pipelines: [] })).toEqual([])
  })

  test('orders by the last build, with pages, and shows the newest builds with their durations', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    for (const name of ['a', 'b', 'c', 'd']) await put(app, name)
    for (const pipeline of ['b', 'a', 'd', 'b']) {
      const key = await runAttempt(scene, await submit(scene, { pipeline, document: undefined }))
      await say(app, key, started)
      clock.advance(5000)
      await say(app, key, ended(pipeline === 'a' ? 'error' : 'success'))
    }
    expect(await names(app, { order: 'last-build' })).toEqual(['b', 'd', 'a', 'c'])
    const first = await listPipelinePage(app, PipelineQuery.parse({ order: 'last-build', limit: 3, activity: 'true' }), undefined)
    expect(
      first.items.map(({ activity }) => activity?.builds.map(({ number, status, durationMs }) => [number, status, durationMs])),
    ).toEqual([
      [
        [4, 'success', 5000],
        [1, 'success', 5000],
      ],
      [[3, 'success', 5000]],
      [[2, 'error', 5000]],
    ])
    expect(await names(app, { order: 'last-build', limit: 3, cursor: first.next })).toEqual(['c'])
    await expect(
      listPipelinePage(app, PipelineQuery.parse({ order: 'last-build', cursor: 'x' }), undefined),
    ).rejects.toMatchObject({
      code: 'request-invalid',
    })
  })

  test('lists 50 of 2,000 pipelines with at most ten statements', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await put(app, 'shop/p0')
    const [row] = await app.store.query.selectFrom('pipeline').selectAll().execute()
    if (row === undefined) throw new Error('no pipeline is stored')
    await app.store.write(async (tx) => {
      for (let at = 1; at < 2000; at += 100)
        await tx.query
          .insertInto('pipeline')
          .values(
            Array.from({ length: Math.min(100, 2000 - at) }, (_, n) => ({
              ...row,
              id: newId(clock.now()),
              name: `shop/p${at + n}`,
            })),
          )
          .execute()
    })
    let page: Awaited<ReturnType<typeof listPipelinePage>> | undefined
    const asked = await record(async () => {
      page = await listPipelinePage(app, PipelineQuery.parse({ order: 'last-build', activity: 'true' }), undefined)
    })
    expect(page?.items).toHaveLength(50)
    expect(page?.next).toBeDefined()
    expect(asked.length).toBeGreaterThan(0)
    expect(asked.length).toBeLessThanOrEqual(10)
  })

  test('refuses names with a reserved part', async () => {
    await using held = await openTestApp(database)
    expect(PipelineInput.safeParse({ name: 'shop/-/app', document: HELLO }).success).toBe(false)
    const document = `version: '1.0'\nkind: pipeline\nmetadata:\n  name: shop/-/app\nspec:\n  steps:\n    one:\n      image: alpine\n      commands: [echo]\n`
    await expect(
      putPipeline(held.app, { input: PipelineInput.parse({ name: 'shop/app', document }), precondition: {} }),
    ).rejects.toMatchObject({ code: 'request-invalid' })
  })
})
