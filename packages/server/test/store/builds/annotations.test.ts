import { PipelineInput, type EngineEventBody } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  getAnnotated,
  putAnnotations,
  readAnnotations,
  removeAnnotations,
  storedForms,
} from '../../../src/annotations/annotations.ts'
import type { App } from '../../../src/app.ts'
import { applyEvents } from '../../../src/builds/engine/events.ts'
import { toItems } from '../../../src/builds/list/list-builds.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { listBuilds } from '../../../src/store/builds/lists/build-lists.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import { feedOf, HELLO, numbered, openScene, runAttempt, say, show, started, submit } from '../../support/scene.ts'

type Annotating = Extract<EngineEventBody, { type: 'annotated' }>
const annotating = (more: Partial<Annotating>): Annotating => ({
  type: 'annotated',
  step: 'one',
  entity: 'build',
  kind: 'annotation',
  set: {},
  unset: [],
  ...more,
})

const read = async (app: App, entity: 'build' | 'pipeline' | 'project' | 'image', id: string): Promise<object> =>
  readAnnotations(app.store.query, await getAnnotated(app.store.query, app.accountId, { entity, id }))

describe.each(DATABASES)('annotations on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('lets a step set and remove annotations of all three types on its build, exactly once (P134)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    const set = { coverage: 85.5, passed: true, note: 'fine', gone: 'x' }
    const events = numbered(key, [started, annotating({ set, display: 'coverage' }), annotating({ unset: ['gone'] })])
    await applyEvents(app, key, events)
    await applyEvents(app, key, events)
    const { gone: _, ...left } = set
    expect(await show(app, build.id)).toMatchObject({ annotations: left, display: { name: 'coverage', value: 85.5 } })
    expect(await read(app, 'build', build.id)).toEqual({ values: left, display: 'coverage' })
  })

  test('lets a step annotate its pipeline, its project, another build and an image, by name or id (P135)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await putPipeline(app, { input: PipelineInput.parse({ name: 'p/one', document: HELLO }), precondition: {} })
    const other = await submit(scene)
    const build = await submit(scene, { document: undefined, pipeline: 'p/one' })
    const key = await runAttempt(scene, build)
    await say(
      app,
      key,
      started,
      annotating({ entity: 'pipeline', set: { a: 1 } }),
      annotating({ entity: 'project', set: { b: 2 } }),
      annotating({ entity: 'build', id: other.id, set: { c: 3 } }),
      annotating({ entity: 'image', id: 'sha256:abc', set: { CF_QUALITY: true }, kind: 'metadata' }),
      annotating({ entity: 'pipeline', id: 'no/such', set: { d: 4 } }),
    )
    expect(await read(app, 'pipeline', 'p/one')).toEqual({ values: { a: 1 } })
    expect(await read(app, 'project', 'p')).toEqual({ values: { b: 2 } })
    expect(await read(app, 'build', other.id)).toEqual({ values: { c: 3 } })
    const image = { account_id: app.accountId, entity: 'image', entity_id: 'sha256:abc' } as const
    expect(await readAnnotations(app.store.query, { ...image, kind: 'metadata' })).toEqual({ values: { CF_QUALITY: true } })
    const feed = await feedOf(app, build.id, { after: 0, limit: 100 })
    expect(feed.flatMap((item) => ('data' in item && item.type === 'notice' ? [item.data['message']] : []))).toEqual([
      'The pipeline "no/such" to annotate does not exist.',
    ])
  })

  test('finds builds by annotations and shows the selected annotation in lists (P134)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const builds = [
      await submit({ app }, { annotations: { team: 'red', score: 85 } }),
      await submit({ app }, { annotations: { team: 'blue' } }),
      await submit({ app }),
    ]
    await putAnnotations(app, { entity: 'build', id: builds[0]?.id ?? '' }, { values: {}, display: 'score' })
    const find = async (...annotations: { name: string; values: string[] }[]): Promise<number[]> =>
      (await listBuilds(app.store.query, { accountId: app.accountId, annotations }, { limit: 10 })).rows.map(
        ({ number }) => number,
      )
    expect(await find({ name: 'team', values: [] })).toEqual([2, 1])
    expect(await find({ name: 'team', values: storedForms('red') })).toEqual([1])
    expect(await find({ name: 'score', values: storedForms('85') }, { name: 'team', values: storedForms('red') })).toEqual([1])
    expect(await find({ name: 'team', values: storedForms('green') })).toEqual([])
    const { rows } = await listBuilds(app.store.query, { accountId: app.accountId }, { limit: 10 })
    expect((await toItems(app, rows, undefined)).map(({ display }) => display)).toEqual([
      undefined,
      undefined,
      { name: 'score', value: 85 },
    ])
  })

  test('lets users set, replace and remove annotations, and rejects unknown entities', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const build = await submit({ app })
    const on = { entity: 'build', id: build.id } as const
    await putAnnotations(app, on, { values: { a: 'one', b: false } })
    expect(await putAnnotations(app, on, { values: { a: 'two' }, display: 'a' })).toEqual({
      values: { a: 'two', b: false },
      display: 'a',
    })
    await removeAnnotations(app, on, ['a', 'nothing'])
    expect(await read(app, 'build', build.id)).toEqual({ values: { b: false } })
    await expect(putAnnotations(app, { entity: 'pipeline', id: 'x' }, { values: {} })).rejects.toMatchObject({
      code: 'not-found',
    })
  })
})
