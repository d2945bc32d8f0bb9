/** Reports of images in the store: what is put together, what stays apart, and what builds report. */
import { ImageReportInput } from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { applyEvents } from '../../../src/builds/engine/events.ts'
import { listApplicationImages, listReportPage } from '../../../src/gitops/images/show-reports.ts'
import { saveReport } from '../../../src/gitops/images/take-report.ts'
import { createGitopsToken } from '../../../src/gitops/runtimes.ts'
import { retain } from '../../../src/retention.ts'
import { findLastReport } from '../../../src/store/runtimes/image-reports.ts'
import { argoApplication, event, report as reportEvents } from '../../support/fakes/application-reporter.ts'
import { record } from '../../support/rows-read.ts'
import { numbered, openScene, runAttempt, started, submit } from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'

const digest = (digit: string): string => `sha256:${digit.repeat(64)}`
const NAME = 'registry.test/acme/shop'
const DAY_MS = 86_400_000

async function save(app: App, given: object, source = 'runtime'): Promise<unknown> {
  const report = ImageReportInput.parse({ image: NAME, digest: digest('a'), workflow: { name: 'shop' }, ...given })
  const shown = { runtime: 'prod' }
  return app.store.write((tx) =>
    saveReport(tx, { accountId: app.accountId, source: { id: source, shown }, report, now: app.clock.now() }),
  )
}

const list = async (app: App, query: object = {}) => (await listReportPage(app, { limit: 50, ...query })).items

describe.each(DATABASES)('reports of images on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('parts of one workflow are put together in any order, and another commit, workflow or source stays apart', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const commit = 'c'.repeat(40)
    await Promise.all([
      save(app, { tags: ['v1', 'v_2'], sizeBytes: 5 }),
      save(app, { git: { commit, branch: 'main' } }),
      save(app, { issues: [{ key: 'SHOP-1' }], workflow: { name: 'shop', url: 'https://ci.test/1' } }),
    ])
    await save(app, { git: { commit, message: 'Mend the cart' } })
    const [joined, ...others] = await list(app)
    expect(others).toEqual([])
    expect(joined).toMatchObject({
      image: NAME,
      tags: ['v1', 'v_2'],
      sizeBytes: 5,
      git: { commit, branch: 'main', message: 'Mend the cart' },
      issues: [{ key: 'SHOP-1' }],
      workflow: { name: 'shop', url: 'https://ci.test/1' },
      runtime: 'prod',
    })
    // Of another commit nothing of the earlier one is kept.
    await save(app, { git: { commit: 'd'.repeat(40) } })
    expect((await list(app))[0]?.git).toEqual({ commit: 'd'.repeat(40) })
    await save(app, { tags: ['v1'], workflow: { name: 'other' } })
    await save(app, { tags: ['v1'] }, 'other runtime')
    await save(app, { tags: ['v1'], digest: digest('b') })
    expect(await list(app)).toHaveLength(4)
    // Pages have each report once.
    const first = await listReportPage(app, { limit: 3 })
    const second = await listReportPage(app, { limit: 3, cursor: first.next })
    expect(new Set([...first.items, ...second.items].map(({ id }) => id)).size).toBe(4)
    expect([first.items.length, second.items.length, second.next]).toEqual([3, 1, undefined])
    expect(await list(app, { image: `${NAME}:v_2` })).toHaveLength(1)
    // A tag is a whole word with its case, and the characters of patterns have no meaning.
    for (const tag of ['V1', 'v', 'vx2', 'v__']) expect([tag, await list(app, { image: `${NAME}:${tag}` })]).toEqual([tag, []])
    expect(await list(app, { commit: 'dddd' })).toHaveLength(1)
    const found = (tag: string) => findLastReport(app.store.query, app.accountId, { name: NAME, tag })
    expect((await found('v1'))?.digest).toBe(digest('b'))
    expect(await found('latest')).toBeUndefined()
    // However many reports an image has, one of them is read, and an image that is named twice is asked for once.
    await createGitopsToken(app, { runtime: 'prod', by: 'tester' })
    const shop = argoApplication('shop', { status: { summary: { images: [`${NAME}:v1`, `${NAME}:v1`] } } })
    await reportEvents(app, { data: event(shop, app.clock.now()) })
    const asked = await record(async () =>
      expect(await listApplicationImages(app, 'prod/argocd/shop')).toEqual([
        { image: `${NAME}:v1`, report: expect.objectContaining({ digest: digest('b') }) },
      ]),
    )
    const reads = asked.filter(({ text }) => text.includes('from "image_report"'))
    expect(reads).toEqual([expect.objectContaining({ text: expect.stringMatching(/limit [?$]/) })])
  })

  test('a source has at most 5,000 reports, of which the oldest make room, and the facts of a report have a limit', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const rows = () => app.store.query.selectFrom('image_report')
    await save(app, {})
    await save(app, {}, 'other runtime')
    const { id: _id, ...first } = await rows().selectAll().where('source', '=', 'runtime').executeTakeFirstOrThrow()
    const more = Array.from({ length: 4_999 }, (_, n) => ({ ...first, id: String(n).padStart(24, '0'), workflow: `of ${n}` }))
    await app.store.write(async (tx) => {
      for (let from = 0; from < more.length; from += 1_000)
        await tx.query
          .insertInto('image_report')
          .values(more.slice(from, from + 1_000))
          .execute()
    })
    clock.advance(1)
    // A report that repeats one needs no room.
    await save(app, {})
    expect(await rows().select('id').where('workflow', '=', 'of 0').execute()).toHaveLength(1)
    await save(app, { workflow: { name: 'new' } })
    expect(await rows().select('id').where('workflow', '=', 'of 0').execute()).toEqual([])
    const counts = await rows()
      .select(['source', (of) => of.fn.countAll<number | string>().as('count')])
      .groupBy('source')
      .orderBy('source')
      .execute()
    expect(counts.map(({ source, count }) => [source, Number(count)])).toEqual([
      ['other runtime', 1],
      ['runtime', 5_000],
    ])
    const issues = Array.from({ length: 50 }, (_, n) => ({ key: `SHOP-${n}`, title: '\u{6f22}'.repeat(400) }))
    await save(app, { issues })
    const { facts } = await rows()
      .select('facts')
      .where('source', '=', 'runtime')
      .where('workflow', '=', 'shop')
      .executeTakeFirstOrThrow()
    expect(Buffer.byteLength(facts)).toBeLessThanOrEqual(16_384)
    expect(facts).toContain('SHOP-10')
    expect(facts).not.toContain('SHOP-20')
    const platforms = Array.from({ length: 50 }, () => '\u{6f22}'.repeat(100))
    await expect(save(app, { platforms, git: { message: '\u{6f22}'.repeat(1_000) } })).rejects.toMatchObject({
      code: 'request-invalid',
    })
  })

  test('a build reports what it pushes, with the commit that the server knows, and reports end with their age', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    const revision = 'e'.repeat(40)
    const title = 'Cart'.repeat(100)
    const git = {
      repoOwner: 'acme',
      repoName: 'shop',
      commitMessage: 'Mend\nthe cart',
      pullRequest: { number: '7', title },
    }
    const build = await submit(scene, { branch: 'main', revision, git })
    const key = await runAttempt(scene, build)
    const image = { type: 'image' as const, step: 'hello', imageId: digest('1'), name: NAME, tags: ['1'], pushed: true }
    const events = numbered(key, [
      started,
      { ...image, digest: digest('a') },
      { ...image, name: 'app', pushed: false },
      // No registry has such a name.
      { ...image, name: 'Not A Name', digest: digest('b') },
    ])
    await applyEvents(app, key, events)
    await applyEvents(app, key, events)
    expect(await list(app)).toEqual([
      expect.objectContaining({
        image: NAME,
        digest: digest('a'),
        build: build.id,
        git: { repo: 'acme/shop', commit: revision, branch: 'main', message: 'Mend', pull: { number: 7, title } },
      }),
    ])
    clock.advance(app.retention.buildDays * DAY_MS - 1_000)
    await save(app, { digest: digest('c') })
    clock.advance(2_000)
    await retain(app)
    expect((await list(app)).map((report) => report.digest)).toEqual([digest('c')])
  })
})
