import { PipelineInput, type EngineEventBody } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { claimAttempt } from '../../../src/builds/engine/engine-claim.ts'
import { applyEvents } from '../../../src/builds/engine/events.ts'
import { readKnownImages, describeImage, toImage } from '../../../src/images/images.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { findImage, listImages } from '../../../src/store/pipelines/images.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import { HELLO, numbered, openScene, PROTOCOL, runAttempt, say, started, startAttempt, submit } from '../../support/scene.ts'

type Made = Extract<EngineEventBody, { type: 'image' }>

const made = (more: Partial<Made> = {}): Made => ({
  type: 'image',
  step: 'build',
  imageId: `sha256:${'a'.repeat(64)}`,
  name: 'registry.example.com/team/app',
  tags: ['1', 'latest'],
  digest: `sha256:${'d'.repeat(64)}`,
  sizeBytes: 1_000,
  pushed: true,
  contentHash: 'c'.repeat(64),
  cache: { hits: 2, misses: 1 },
  ...more,
})

const annotated = (more: object): EngineEventBody => ({
  type: 'annotated',
  step: 'build.on_success',
  entity: 'image',
  kind: 'metadata',
  set: {},
  unset: [],
  ...more,
})

describe.each(DATABASES)('images on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('finds an image of a step with its metadata and CF_QUALITY by any of its names (P136)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const { query } = app.store
    const scene = await openScene(app)
    const build = await submit(scene)
    const key = await runAttempt(scene, build)
    const events = numbered(key, [
      started,
      made(),
      annotated({ set: { CF_QUALITY: true, coverage: '85%' } }),
      annotated({ id: 'registry.example.com/team/app:1', set: { link: 'https://example.com' } }),
      annotated({ id: made().imageId, kind: 'annotation', set: { team: 'red' } }),
    ])
    await applyEvents(app, key, events)
    await applyEvents(app, key, events)
    const images = await listImages(query, { accountId: app.accountId, limit: 10 })
    expect(images.map(toImage)).toEqual([
      expect.objectContaining({
        buildId: build.id,
        step: 'build',
        tags: ['1', 'latest'],
        pushed: true,
        cache: { hits: 2, misses: 1 },
      }),
    ])
    const names = [
      images[0]?.id ?? '',
      made().imageId,
      made().digest ?? '',
      'registry.example.com/team/app:1',
      'registry.example.com/team/app',
      `registry.example.com/team/app@${made().digest}`,
    ]
    for (const name of names) {
      const row = await findImage(query, app.accountId, name)
      expect(row && (await describeImage(query, row)), name).toMatchObject({
        metadata: { CF_QUALITY: true, coverage: '85%', link: 'https://example.com' },
        annotations: { team: 'red' },
      })
    }
    for (const name of ['registry.example.com/team/app:2', 'registry.example.com/team/app:%', 'sha256:0', ''])
      expect(await findImage(query, app.accountId, name), name).toBeUndefined()
  })

  test.each([
    ['tonistiigi/binfmt, quay.io/team/qemu:v7', ['tonistiigi/binfmt', 'quay.io/team/qemu:v7']],
    [undefined, []],
  ])('hands over the trusted QEMU images of the runtime with the claim: %s (P059)', async (text, trusted) => {
    await using held = await openTestApp(database)
    const { app } = held
    const envVars = text === undefined ? {} : { TRUSTED_QEMU_IMAGES: text }
    const scene = await openScene(app, { runtimeScheduler: { envVars } })
    const { buildId, attempt } = await startAttempt(scene, await submit(scene))
    const claimed = await claimAttempt(app, { buildId, attempt }, { ...PROTOCOL, claimKey: 'the-key-of-an-engine' })
    expect(claimed.trustedQemuImages).toEqual(trusted)
  })

  test('gives an engine the newest images of the steps of its pipeline (P053)', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await putPipeline(app, { input: PipelineInput.parse({ name: 'p/one', document: HELLO }), precondition: {} })
    const build = await submit(scene, { document: undefined, pipeline: 'p/one' })
    const key = await runAttempt(scene, build)
    const hashes = ['1', '2', '3', '4', '5', '6', '7'].map((digit) => digit.repeat(64))
    await say(
      app,
      key,
      started,
      ...hashes.map((contentHash, index) => made({ contentHash, name: `app-${index}` })),
      made({ step: 'other', contentHash: undefined }),
      made({ step: 'third', name: 'third' }),
    )
    const known = await readKnownImages(app.store.query, build.pipeline_id)
    expect(known.filter(({ step }) => step === 'build')).toHaveLength(5)
    expect(known.map(({ step }) => step)).not.toContain('other')
    expect(known.find(({ step }) => step === 'third')).toEqual({
      step: 'third',
      contentHash: made().contentHash,
      imageId: made().imageId,
      name: 'third',
      tags: ['1', 'latest'],
      digest: made().digest,
    })
    expect(await readKnownImages(app.store.query, null)).toEqual([])
    const other = await submit(scene)
    expect(await listImages(app.store.query, { accountId: app.accountId, buildId: other.id, limit: 10 })).toEqual([])
  })
})
