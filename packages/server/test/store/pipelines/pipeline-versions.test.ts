/** Versions of pipelines: who changed what, when and why, and their restoration. */
import { PipelineInput, RuntimeInput } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { putPipeline, removePipeline, showPipeline } from '../../../src/pipelines/pipelines.ts'
import { diffVersions, listVersionPage, restoreVersion, showVersion } from '../../../src/pipelines/versions.ts'
import { openVariables } from '../../../src/pipelines/variables.ts'
import { retain } from '../../../src/retention.ts'
import { putRuntime, removeRuntime } from '../../../src/runtimes/runtimes.ts'
import { findPipeline, savePipeline } from '../../../src/store/pipelines/pipelines.ts'
import { VERSIONS_KEPT } from '../../../src/store/pipelines/pipeline-versions.ts'
import type { PipelineRow } from '../../../src/store/schema/schema.ts'
import { openScene, submit } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const NAME = 'shop/app'
const HELLO = 'steps:\n  hello:\n    image: alpine\n    commands: [echo hello]\n'
const OTHER = HELLO.replace('echo hello', 'echo other')

async function put(app: App, more: object = {}, message?: string) {
  const input = PipelineInput.parse({ name: NAME, document: HELLO, ...more })
  return putPipeline(app, { name: undefined, input, precondition: {}, change: { by: 'mira', message } })
}

async function list(app: App): Promise<unknown[]> {
  return (await listVersionPage(app, NAME, { limit: 50 })).items.map(({ version, changedBy, message }) => [
    version,
    changedBy,
    message,
  ])
}

async function restore(app: App, version: number, ifMatch?: string) {
  return restoreVersion(app, NAME, { version, precondition: { ifMatch }, authorize: () => Promise.resolve(), by: 'jo' })
}

async function rowOf(app: App): Promise<PipelineRow> {
  const row = await findPipeline(app.store.query, app.accountId, NAME)
  if (row === undefined) throw new Error('no pipeline')
  return row
}

/** Changes the pipeline as a server of an earlier version does. */
async function writeAsBefore(app: App, changes: Partial<PipelineRow>): Promise<void> {
  const row = await rowOf(app)
  await app.store.write((tx) => savePipeline(tx, { ...row, revision: row.revision + 1, ...changes }))
}

describe.each(DATABASES)('versions of pipelines on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('keeps each change with who, when and why, and makes no version of the same content', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    await put(app)
    clock.advance(1000)
    await put(app, { document: OTHER }, 'Say something else')
    clock.advance(1000)
    const again = await put(app, { document: OTHER }, 'The same again')
    expect(again.pipeline).toMatchObject({ revision: 2, updatedAt: clock.now() - 1000 })
    await put(app, { document: OTHER, concurrency: 2 })
    expect((await listVersionPage(app, NAME, { limit: 50 })).items).toEqual([
      { version: 3, changedBy: 'mira', createdAt: clock.now(), current: true },
      { version: 2, changedBy: 'mira', message: 'Say something else', createdAt: clock.now() - 1000, current: false },
      { version: 1, changedBy: 'mira', createdAt: clock.now() - 2000, current: false },
    ])
    expect(await showVersion(app, NAME, 1)).toMatchObject({ version: 1, current: false, name: NAME, document: HELLO })
    await expect(showVersion(app, NAME, 4)).rejects.toMatchObject({ code: 'not-found' })
  })

  test('lists versions in pages', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    for (let priority = 1; priority <= 5; priority += 1) await put(app, { priority })
    const first = await listVersionPage(app, NAME, { limit: 2 })
    const second = await listVersionPage(app, NAME, { limit: 2, cursor: Number(first.next) })
    const third = await listVersionPage(app, NAME, { limit: 2, cursor: Number(second.next) })
    const numbers = [first, second, third].map(({ items }) => items.map(({ version }) => version))
    expect(numbers).toEqual([[5, 4], [3, 2], [1]])
    expect(third.next).toBeUndefined()
  })

  test('compares documents as a patch and settings by path', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app, { variables: [{ key: 'A', value: 'one' }] })
    await put(app, { document: OTHER, concurrency: 1, variables: [{ key: 'A', value: 'two' }] })
    const diff = await diffVersions(app, NAME, { version: 2, other: undefined })
    expect(diff.document.split('\n').filter((line) => /^[-+]/.test(line))).toEqual([
      '--- version 1',
      '+++ version 2',
      '-    commands: [echo hello]',
      '+    commands: [echo other]',
    ])
    expect(diff).toMatchObject({
      from: 1,
      to: 2,
      changes: [
        { path: 'concurrency', to: 1 },
        { path: 'variables.A', from: 'one', to: 'two' },
      ],
    })
    expect(await diffVersions(app, NAME, { version: 1, other: 1 })).toEqual({ from: 1, to: 1, document: '', changes: [] })
    expect((await diffVersions(app, NAME, { version: 1, other: undefined })).from).toBeUndefined()
  })

  test('keeps no values of encrypted variables, tells when they changed, and restores with the values of now', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const secret = (value: string) => [{ key: 'TOKEN', value, encrypted: true }]
    await put(app, { variables: secret('first-s3cret') })
    await put(app, { variables: secret('*****'), document: OTHER })
    expect((await put(app, { variables: secret('first-s3cret'), document: OTHER })).pipeline.revision).toBe(2)
    await put(app, { variables: secret('other-s3cret'), document: OTHER })
    expect((await diffVersions(app, NAME, { version: 2, other: undefined })).changes).toEqual([])
    expect((await diffVersions(app, NAME, { version: 3, other: undefined })).changes).toEqual([
      { path: 'variables.TOKEN', from: '***** (set in version 1)', to: '***** (set in version 3)' },
    ])
    const stored = await app.store.query.selectFrom('pipeline_version').select('content').execute()
    expect(stored).toHaveLength(3)
    for (const { content } of stored) expect(content).not.toMatch(/s3cret|sealed|v1:/)
    await restore(app, 1)
    expect(openVariables(app.vault, await rowOf(app))).toEqual([{ key: 'TOKEN', value: 'other-s3cret', encrypted: true }])
    await put(app, { variables: [] })
    await expect(restore(app, 1)).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('TOKEN') })
  })

  test('replaces a pipeline with a damaged secret', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app, { variables: [{ key: 'TOKEN', value: 'first', encrypted: true }] })
    const damaged = JSON.stringify([{ key: 'TOKEN', value: 'damaged', encrypted: true }])
    await app.store.query.updateTable('pipeline').set({ variables: damaged }).execute()
    await put(app, { variables: [{ key: 'TOKEN', value: 'second', encrypted: true }] })
    expect(openVariables(app.vault, await rowOf(app))[0]?.value).toBe('second')
    expect((await showVersion(app, NAME, 2)).variables).toEqual([{ key: 'TOKEN', value: '*****', encrypted: true, setIn: 2 }])
  })

  test('keeps no encrypted values that a document contains', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const document = `kind: pipeline\nmetadata: {name: ${NAME}}\nspec:\n  variables: [{key: T, value: in-s3cret, encrypted: true}]\n  steps: {a: {image: alpine, commands: [ls]}}\n`
    await put(app, { document })
    await put(app, { document: document.replace('[ls]', '[pwd]').replace('in-s3cret', '"*****"') })
    const stored = await app.store.query.selectFrom('pipeline_version').select('content').execute()
    for (const { content } of stored) expect(content).not.toContain('s3cret')
    const restored = await restore(app, 1)
    expect(restored.document).toContain('[ls]')
    expect(openVariables(app.vault, await rowOf(app))[0]?.value).toBe('in-s3cret')
  })

  test('restores a version as a new one, unless the pipeline was changed in the meantime (W069)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app)
    await put(app, { document: OTHER, runtime: 'prod', priority: 3 })
    await expect(restore(app, 1, '"1"')).rejects.toMatchObject({ code: 'conflict' })
    const restored = await restore(app, 1, '"2"')
    expect(restored).toMatchObject({ revision: 3, document: HELLO, priority: 0 })
    expect(restored.runtime).toBeUndefined()
    expect(await list(app)).toEqual([
      [3, 'jo', 'restores version 1'],
      [2, 'mira', undefined],
      [1, 'mira', undefined],
    ])
    expect((await restore(app, 1)).revision).toBe(3)
  })

  test('restores the name that a renamed pipeline had, and refuses a name that is taken', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const named = (name: string) => `kind: pipeline\nmetadata: {name: ${name}}\nspec: {steps: {a: {image: alpine}}}\n`
    await put(app, { document: named(NAME) })
    const { id } = await rowOf(app)
    const rename = (name: string) =>
      putPipeline(app, { name: id, input: PipelineInput.parse({ name, document: named(name) }), precondition: {} })
    await rename('shop/renamed')
    const back = { version: 1, precondition: {}, authorize: () => Promise.resolve(), by: 'jo' }
    expect(await restoreVersion(app, 'shop/renamed', back)).toMatchObject({ id, name: NAME })
    await rename('shop/renamed')
    await put(app)
    await expect(restoreVersion(app, 'shop/renamed', back)).rejects.toMatchObject({ code: 'conflict' })
  })

  test('shows what a server of an earlier version wrote without a version, and keeps it at the next change', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app)
    await writeAsBefore(app, { document: OTHER })
    expect(await list(app)).toEqual([
      [2, undefined, undefined],
      [1, 'mira', undefined],
    ])
    expect(await showVersion(app, NAME, 2)).toMatchObject({ document: OTHER, current: true })
    expect((await diffVersions(app, NAME, { version: 2, other: 1 })).document).toContain('+    commands: [echo other]')
    await put(app, { priority: 1 })
    await writeAsBefore(app, { priority: 2 })
    await writeAsBefore(app, { priority: 3 })
    await put(app, { priority: 4 })
    expect(await list(app)).toEqual([
      [6, 'mira', undefined],
      [5, undefined, undefined],
      [3, 'mira', undefined],
      [2, undefined, undefined],
      [1, 'mira', undefined],
    ])
    expect(await showVersion(app, NAME, 2)).toMatchObject({ document: OTHER, current: false })
  })

  test('a deleted pipeline has no versions, also if a server of an earlier version deleted it', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const count = async () => (await app.store.query.selectFrom('pipeline_version').select('version').execute()).length
    await put(app)
    await removePipeline(app, NAME)
    expect(await count()).toBe(0)
    await put(app)
    await put(app, { name: 'shop/second' })
    await app.store.query.deleteFrom('pipeline').where('name', '=', NAME).execute()
    expect(await count()).toBe(2)
    await retain(app)
    expect(await count()).toBe(1)
  })

  test('keeps a limited number of versions', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    await put(app)
    const { id } = await rowOf(app)
    const [first] = await app.store.query.selectFrom('pipeline_version').selectAll().execute()
    if (first === undefined) throw new Error('no version')
    const filler = Array.from({ length: VERSIONS_KEPT }, (_, n) => ({ ...first, version: n + 2 }))
    await app.store.write(async (tx) => {
      for (let at = 0; at < filler.length; at += 100)
        await tx.query
          .insertInto('pipeline_version')
          .values(filler.slice(at, at + 100))
          .execute()
    })
    await app.store.query
      .updateTable('pipeline')
      .set({ revision: VERSIONS_KEPT + 1 })
      .where('id', '=', id)
      .execute()
    await put(app, { priority: 1 })
    const kept = await app.store.query.selectFrom('pipeline_version').select('version').orderBy('version').execute()
    expect([kept.length, kept[0]?.version, kept.at(-1)?.version]).toEqual([VERSIONS_KEPT, 3, VERSIONS_KEPT + 2])
    await app.store.query.updateTable('pipeline_version').set({ bytes: 12_000_000 }).execute()
    await put(app, { priority: 2 })
    const left = await app.store.query.selectFrom('pipeline_version').select('version').orderBy('version').execute()
    expect(left.map(({ version }) => version)).toEqual([VERSIONS_KEPT + 1, VERSIONS_KEPT + 2, VERSIONS_KEPT + 3])
  })

  test('the deletion of a runtime makes versions of the pipelines that named it', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    for (const name of ['one', 'two'])
      await putRuntime(app, { input: RuntimeInput.parse({ name, type: 'fake', isDefault: name === 'one' }), changedBy: 'mira' })
    await put(app, { runtime: 'two' })
    await removeRuntime(app, 'two', { by: 'jo' })
    expect((await showPipeline(app, undefined, await rowOf(app))).runtime).toBeUndefined()
    expect((await list(app))[0]).toEqual([2, 'jo', 'The runtime "two" was deleted.'])
    expect((await showVersion(app, NAME, 1)).runtime).toBe('two')
  })

  test('a build names the version that it used', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await put(app)
    await put(app, { priority: 1 })
    const { id } = await submit(scene, { pipeline: NAME, document: undefined })
    const row = await app.store.query.selectFrom('build').select('pipeline_version').where('id', '=', id).executeTakeFirst()
    expect(row?.pipeline_version).toBe(2)
  })
})
