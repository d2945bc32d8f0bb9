/** Views over all builds: the queue, approvals, relations, search, and the preview of a build. */
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ApprovalQuery, PipelineInput, PlanInput, SearchQuery, type Role } from '@windlass/protocol'
import type { App } from '../../../src/app.ts'
import { decideApproval } from '../../../src/builds/lifecycle/approve.ts'
import { listApprovalPage } from '../../../src/builds/list/list-approvals.ts'
import { readQueue } from '../../../src/builds/list/queue.ts'
import { relatedBuilds } from '../../../src/builds/list/related.ts'
import { search } from '../../../src/builds/list/search.ts'
import { describePlan } from '../../../src/builds/preview/build-plan.ts'
import { previewBuild } from '../../../src/builds/preview/preview-build.ts'
import { elect } from '../../../src/builds/schedule/elect.ts'
import type { KeyActor } from '../../../src/identity/actor.ts'
import { putPipeline } from '../../../src/pipelines/pipelines.ts'
import { findProject } from '../../../src/store/pipelines/projects.ts'
import { findBuild } from '../../../src/store/builds/builds.ts'
import type { BuildRow } from '../../../src/store/schema/schema.ts'
import {
  callOfAgents,
  ended,
  HELLO,
  openScene,
  report,
  runAttempt,
  say,
  started,
  submit,
  take,
  type Scene,
} from '../../support/scene.ts'
import { DATABASES, openTestApp, type Database } from '../../support/stores.ts'
import type { Places } from '../../../src/store/places.ts'

const MINUTE = 60_000
const GATE = (minutes: number): string => `version: '1.0'
steps:
  before: { image: alpine, commands: [echo before] }
  gate: { type: pending-approval, timeout: { duration: ${minutes}, timeUnit: minutes, finalState: denied } }
  after: { image: alpine, commands: [echo after] }
`
const BROKEN = "version: '1.0'\nsteps: 5"
const ADMIN: KeyActor = { kind: 'key', id: 'admin', accountId: '', name: 'admin', role: 'admin' }

/** A caller with a role in one project only. */
async function memberOf(app: App, project: string, role: Role): Promise<KeyActor> {
  const id = (await findProject(app.store.query, app.accountId, project))?.id ?? ''
  return { ...ADMIN, id: 'member', role: 'none', projects: new Map([[id, role]]) }
}

async function put(app: App, name: string, more: object = {}): Promise<void> {
  await putPipeline(app, { input: PipelineInput.parse({ name, document: HELLO, ...more }), precondition: {} })
}

const ofPipeline = (pipeline: string, more: object = {}): object => ({ pipeline, document: undefined, ...more })

async function endAs(scene: Scene, build: BuildRow, status: 'success' | 'error'): Promise<void> {
  const key = await runAttempt(scene, build)
  await say(scene.app, key, started, ended(status))
}

async function ask(scene: Scene, build: BuildRow): Promise<void> {
  const key = await runAttempt(scene, build)
  await say(scene.app, key, started, { type: 'step.started', step: 'gate', try: 1 })
  await say(scene.app, key, { type: 'step.waiting', step: 'gate', reason: 'approval' })
}

describe.each(DATABASES)('views over all builds on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  test('groups the queue by cause in the order of election, with holders and a forecast', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app, { capacity: 3 })
    expect(await readQueue(app, undefined)).toEqual({ waiting: 0, items: [] })
    await put(app, 'shop/app', { concurrency: 1 })
    await put(app, 'shop/frozen', { concurrency: 0 })
    for (let n = 0; n < 5; n += 1) {
      const build = await submit(scene, ofPipeline('shop/app'))
      const key = await runAttempt(scene, build)
      await say(app, key, started)
      clock.advance(10 * MINUTE)
      await say(app, key, ended('success'))
      for (const task of await take(scene)) await report(scene, task, 'done')
      clock.advance(MINUTE)
      await callOfAgents(app)
    }
    const holder = await submit(scene, ofPipeline('shop/app'))
    await say(app, await runAttempt(scene, holder), started)
    const since = clock.now()
    const first = await submit(scene, ofPipeline('shop/app', { branch: 'main' }))
    await submit(scene, ofPipeline('shop/frozen'))
    await submit(scene, ofPipeline('shop/app'))
    await elect(app)
    clock.advance(4 * MINUTE)
    const queue = await readQueue(app, undefined)
    expect(queue).toMatchObject({
      waiting: 3,
      items: [
        {
          reason: 'pipeline-limit',
          pipeline: 'shop/app',
          waiting: 2,
          used: 1,
          limit: 1,
          since,
          expiresAt: since + 7 * 24 * 60 * MINUTE,
          holders: [{ id: holder.id, status: 'running' }],
          builds: [{ id: first.id, branch: 'main' }, {}],
          nextMs: 6 * MINUTE,
        },
        { reason: 'pipeline-frozen', pipeline: 'shop/frozen', waiting: 1 },
      ],
    })
    expect(queue.items[1]).not.toHaveProperty('nextMs')
    const shop = (await findProject(app.store.query, app.accountId, 'shop'))?.id ?? ''
    expect(await readQueue(app, { projects: [shop], pipelines: [] })).toEqual(queue)
    expect(await readQueue(app, { projects: ['another'], pipelines: [] })).toEqual({ waiting: 0, items: [] })
  })

  test('lists approvals by expiry and by decision, page by page, with what the caller may do', async () => {
    await using held = await openTestApp(database)
    const { app, clock } = held
    const scene = await openScene(app)
    for (const name of ['shop/app', 'blog/site']) await put(app, name)
    const minutes = [30, 10, 20]
    const builds: BuildRow[] = []
    for (const [n, pipeline] of ['shop/app', 'blog/site', 'shop/app'].entries()) {
      const build = await submit(scene, { pipeline, document: GATE(minutes[n] ?? 0) })
      await ask(scene, build)
      builds.push(build)
    }
    const page = (query: object, actor: KeyActor = ADMIN) => listApprovalPage(app, actor, ApprovalQuery.parse(query))
    const numbers = async (query: object, actor?: KeyActor) => (await page(query, actor)).items.map(({ build }) => build.number)
    expect(await numbers({})).toEqual([2, 3, 1])
    const one = await page({ limit: 1 })
    expect(one.items).toMatchObject([{ step: 'gate', may: true, next: ['after'], expiresAt: clock.now() + 10 * MINUTE }])
    expect(await numbers({ limit: 5, cursor: one.next })).toEqual([3, 1])
    await expect(page({ cursor: '17' })).rejects.toMatchObject({ code: 'request-invalid' })
    const viewer = await memberOf(app, 'shop', 'viewer')
    expect((await page({}, viewer)).items).toMatchObject([
      { build: { number: 3 }, may: false },
      { build: { number: 1 }, may: false },
    ])
    expect((await page({}, await memberOf(app, 'shop', 'developer'))).items.map(({ may }) => may)).toEqual([true, true])
    expect((await page({}, { ...ADMIN, scopes: ['build:read'] })).items.map(({ may }) => may)).toEqual([false, false, false])
    for (const n of [2, 0]) {
      clock.advance(MINUTE)
      const by = { name: 'ann', type: 'user' }
      await decideApproval(app, builds[n]?.id ?? '', { decision: 'approved', by, comment: 'fine' })
    }
    expect(await numbers({})).toEqual([2])
    const decided = await page({ state: 'decided' })
    expect(decided.items).toMatchObject([
      { build: { number: 1 }, decision: 'approved', by: { name: 'ann' }, comment: 'fine', may: false },
      { build: { number: 3 } },
    ])
    expect(await numbers({ pipeline: 'blog/site' })).toEqual([2])
    expect(await numbers({ state: 'decided', pipeline: 'shop/app' })).toEqual([1, 3])
    expect(await numbers({ state: 'decided', pipeline: 'blog/site' })).toEqual([])
    const { next } = await page({ state: 'decided', limit: 1 })
    expect(await numbers({ state: 'decided', cursor: next })).toEqual([3])
    expect(await numbers({ state: 'decided' }, await memberOf(app, 'blog', 'admin'))).toEqual([])
  })

  test('finds the builds that belong to a build', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await put(app, 'shop/app')
    const onMain = (more: object = {}): object => ofPipeline('shop/app', { branch: 'main', ...more })
    const statuses = ['success', 'error', 'error', 'success', 'error', 'error'] as const
    const rows: BuildRow[] = []
    for (const [n, status] of statuses.entries()) {
      rows.push(await submit(scene, onMain({ revision: `${n < 5 ? 'a' : 'b'}`.repeat(40) })))
      await endAs(scene, rows.at(-1) as BuildRow, status)
    }
    await submit(scene, ofPipeline('shop/app', { branch: 'next' }))
    const related = async (n: number, seen?: Places) => {
      const row = await findBuild(app.store.query, app.accountId, rows[n]?.id ?? '')
      if (row === undefined) throw new Error(`no build ${n}`)
      return relatedBuilds(app, row, seen)
    }
    expect(await related(5)).toMatchObject({
      previous: { number: 5 },
      lastGreen: { number: 4 },
      firstRed: { number: 5 },
      red: { builds: 2, commits: 2 },
      children: [],
      restarts: [],
    })
    expect(await related(5)).not.toHaveProperty('next')
    expect(await related(2)).toMatchObject({ previous: { number: 2 }, next: { number: 4 }, firstRed: { number: 2 } })
    const green = await related(3)
    expect(green).toMatchObject({ lastGreen: { number: 1 } })
    expect(green).not.toHaveProperty('firstRed')
    const again = await submit(scene, { restartOf: rows[5]?.id, document: undefined })
    const child = await submit(scene, ofPipeline('shop/app', { annotations: { cf_predecessor: rows[5]?.id ?? '' } }))
    expect(await related(5)).toMatchObject({ restarts: [{ id: again.id }], children: [{ id: child.id }], next: { id: again.id } })
    rows.push(again, child)
    expect(await related(6)).toMatchObject({ restartOf: { number: 6 } })
    expect(await related(7)).toMatchObject({ parent: { number: 6 } })
    expect(await related(7, { projects: ['another-project'], pipelines: [] })).toEqual({ children: [], restarts: [] })
  })

  test('searches builds and names, only those that the caller may see', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    for (const name of ['shop/tax', 'shop/local-tax', 'blog/tax']) await put(app, name)
    const { id } = await submit(scene, ofPipeline('shop/tax', { revision: 'abcdef0123'.repeat(4) }))
    const found = async (q: string, actor: KeyActor = ADMIN, limit?: number) =>
      (await search(app, actor, SearchQuery.parse({ q, ...(limit && { limit }) }))).items.map(
        ({ kind, name }) => `${kind} ${name}`,
      )
    expect(await found('TAX')).toEqual(['pipeline blog/tax', 'pipeline shop/tax', 'pipeline shop/local-tax'])
    expect(await found('tax', ADMIN, 1)).toEqual(['pipeline blog/tax'])
    expect(await found('shop')).toEqual(['pipeline shop/tax', 'pipeline shop/local-tax', 'project shop'])
    expect(await found('loc')).toEqual(['pipeline shop/local-tax', 'runtime local'])
    for (const q of ['1', '#1', 'abcdef01', 'ABCDEF0123']) expect(await found(q)).toEqual(['build shop/tax'])
    expect((await search(app, ADMIN, SearchQuery.parse({ q: '#1' }))).items[0]).toMatchObject({ id, build: { number: 1 } })
    expect(await found('%')).toEqual([])
    const viewer = await memberOf(app, 'blog', 'viewer')
    expect(await found('tax', viewer)).toEqual(['pipeline blog/tax'])
    expect(await found('local', viewer)).toEqual([])
    expect(await found('#1', viewer)).toEqual([])
    expect(await found('tax', { ...ADMIN, scopes: ['build:read'] })).toEqual([])
  })

  test('shows the plan of a build with levels, overrides and places of its steps', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await put(app, 'shop/app', { variables: [{ key: 'TARGET', value: 'test' }] })
    const { id } = await submit(
      scene,
      ofPipeline('shop/app', { variables: { TARGET: 'live' }, secrets: { KEY: 'hidden-value' }, skip: ['two'] }),
    )
    const { plan, document, file } = await describePlan(app, id)
    expect([document, file]).toEqual([HELLO, 'pipeline.yaml'])
    expect(plan?.steps).toMatchObject([
      { name: 'one', forecast: 'runs', position: { line: 3 } },
      { name: 'two', after: ['one'], forecast: 'skipped', because: 'not selected' },
    ])
    expect(plan?.variables.filter(({ name }) => name === 'TARGET' || name === 'KEY')).toEqual([
      { name: 'KEY', level: 'build', isSecret: true },
      { name: 'TARGET', level: 'build', value: 'live', isSecret: false },
      { name: 'TARGET', level: 'pipeline', source: 'shop/app', value: 'test', isSecret: false, overriddenBy: 'build' },
    ])
    const broken = await submit(scene, { document: BROKEN })
    const shown = await describePlan(app, broken.id)
    expect(shown).toMatchObject({ document: BROKEN, problems: [{ severity: 'error' }] })
    expect(shown).not.toHaveProperty('plan')
  })

  test('previews a build with the variables of the server and its wait, and starts nothing', async () => {
    await using held = await openTestApp(database)
    const { app } = held
    const scene = await openScene(app)
    await put(app, 'shop/app', { concurrency: 1, variables: [{ key: 'TARGET', value: 'test' }] })
    const preview = (input: object, actor: KeyActor = ADMIN) => previewBuild(app, actor, PlanInput.parse(input))
    const first = await preview({ pipeline: 'shop/app', only: ['one'] })
    expect(first).toMatchObject({ runtime: 'local', problems: [] })
    expect(first).not.toHaveProperty('wait')
    expect(first.plan?.steps.map(({ name, forecast }) => `${name} ${forecast}`)).toEqual(['one runs', 'two skipped'])
    expect(first.plan?.variables).toContainEqual({
      name: 'TARGET',
      level: 'pipeline',
      source: 'shop/app',
      value: 'test',
      isSecret: false,
    })
    // Holders are read at most once a second.
    held.clock.advance(1_001)
    const holder = await submit(scene, ofPipeline('shop/app'))
    await runAttempt(scene, holder)
    await submit(scene, ofPipeline('shop/app'))
    await elect(app)
    expect((await preview({ pipeline: 'shop/app' })).wait).toMatchObject({
      reason: 'pipeline-limit',
      used: 1,
      limit: 1,
      place: 2,
      holders: [{ id: holder.id }],
    })
    expect(await preview({ document: BROKEN })).toMatchObject({ problems: [{ severity: 'error' }] })
    expect(await preview({ pipeline: 'shop/app', contexts: ['none'] })).toMatchObject({
      missing: 'Context "none" does not exist.',
    })
    await expect(preview({ pipeline: 'shop/none' })).rejects.toMatchObject({ code: 'not-found' })
    await expect(preview({ pipeline: 'shop/app' }, await memberOf(app, 'shop', 'viewer'))).rejects.toMatchObject({
      code: 'forbidden',
    })
    expect(await app.store.query.selectFrom('build').select('number').execute()).toHaveLength(2)
  })
})
