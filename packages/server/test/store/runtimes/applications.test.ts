/** Applications in the store: both shapes of reports, reports that repeat or come late, full states, lists and what is kept. */
import {
  ApplicationQuery,
  REPORTER_SILENT_MS,
  shardOf,
  type Application,
  type ApplicationDetails,
  type FullState,
} from '@windlass/protocol'
import { sql } from 'kysely'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { listApplicationNames, listApplicationPage, showApplication } from '../../../src/gitops/applications/show-applications.ts'
import { createGitopsToken, removeGitopsRuntime } from '../../../src/gitops/runtimes.ts'
import { findGitopsRuntime } from '../../../src/store/runtimes/gitops.ts'
import { retain } from '../../../src/retention.ts'
import { applicationEntities } from '../../../src/store/migrations/090-application-entities.ts'
import { countApplications } from '../../../src/store/runtimes/applications.ts'
import { writeCursor } from '../../../src/store/cursor.ts'
import {
  argoApplication,
  COMMIT,
  CREATED_AT,
  earlierEvent,
  event,
  goneEvent,
  report,
  type Sent,
} from '../../support/fakes/application-reporter.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'

const DAY_MS = 86_400_000
const MINUTE_MS = 60_000

async function list(app: App, query: object = {}): Promise<Application[]> {
  return (await listApplicationPage(app, ApplicationQuery.parse(query))).items
}

const namesOf = async (app: App, query: object = {}): Promise<string[]> => (await list(app, query)).map(({ name }) => name)

async function show(app: App, name: string, namespace = 'argocd'): Promise<ApplicationDetails> {
  return showApplication(app, `prod/${namespace}/${name}`)
}

async function storedOf(app: App): ReturnType<typeof countApplications> {
  const { id = '' } = (await findGitopsRuntime(app.store.query, app.accountId, 'prod')) ?? {}
  return countApplications(app.store.query, id)
}

describe.each(DATABASES)('applications on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  async function openRuntime(): Promise<TestApp> {
    const held = await openTestApp(database)
    await createGitopsToken(held.app, { runtime: 'prod', by: 'tester' })
    return held
  }

  test('both shapes of a payload store the same application (O058, O089)', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const status = {
      operationState: { phase: 'Succeeded', startedAt: '2027-01-10T08:01:00Z', finishedAt: '2027-01-10T08:02:00Z' },
    }
    const object = argoApplication('shop', { status })
    expect(await report(app, { data: event(object, clock.now()) })).toMatchObject({ taken: 1, ignored: 0 })
    const shown = await show(app, 'shop')
    expect(shown).toMatchObject({
      runtime: 'prod',
      namespace: 'argocd',
      name: 'shop',
      project: 'default',
      sources: [{ repo: 'https://git.test/acme/shop.git', path: 'shop', revision: 'main' }],
      destination: { server: 'https://kubernetes.default.svc', namespace: 'shop' },
      health: 'healthy',
      sync: 'synced',
      revisions: [COMMIT],
      isAutomatic: true,
      operation: { phase: 'succeeded', finishedAt: Date.parse('2027-01-10T08:02:00Z') },
      images: ['registry.test/shop:1'],
      resourceCount: 2,
      since: clock.now(),
      reportedAt: clock.now(),
      createdAt: CREATED_AT,
    })
    expect(shown.why).toBeUndefined()
    expect(shown.resources).toMatchObject([
      { group: 'apps', kind: 'Deployment', name: 'shop', health: 'healthy', sync: 'synced' },
      { kind: 'Service' },
    ])
    expect(await showApplication(app, shown.id)).toEqual(shown)
    await report(app, { data: earlierEvent(argoApplication('shop', { status, namespace: 'team' }), clock.now()) })
    expect(await show(app, 'shop', 'team')).toEqual({ ...shown, id: expect.any(String), namespace: 'team' })
    // Objects that are no applications are accepted, because reporters of other make send them.
    const deployment = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'shop', namespace: 'shop' } }
    const source = { appName: 'shop', appNamespace: 'argocd' }
    expect(await report(app, { data: earlierEvent(deployment, clock.now(), source) })).toMatchObject({ taken: 0, ignored: 1 })
    expect(await report(app, { data: { ...event(deployment, clock.now()), source } })).toMatchObject({ taken: 0, ignored: 1 })
    expect(await namesOf(app)).toEqual(['shop', 'shop'])
  })

  test('a report that repeats or comes late changes nothing, in whatever order they arrive (O060)', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const at = clock.now()
    const states = [
      event(argoApplication('shop', { version: 9, health: 'Progressing' }), at),
      event(argoApplication('shop', { version: 10, health: 'Degraded' }), at + 1),
      event(argoApplication('shop', { version: 101 }), at + 2),
    ]
    clock.advance(10)
    for (const data of [states[1], states[0], states[1]]) await report(app, { data: data ?? [] })
    const degraded = await show(app, 'shop')
    expect(degraded).toMatchObject({ health: 'degraded', reportedAt: at + 1 })
    clock.advance(5_000)
    expect(await report(app, { data: [states[2] ?? {}, states[0] ?? {}, states[2] ?? {}] })).toMatchObject({
      taken: 1,
      ignored: 2,
    })
    const healthy = await show(app, 'shop')
    expect(healthy).toMatchObject({ health: 'healthy', since: clock.now() })
    clock.advance(5_000)
    await report(app, { data: event(argoApplication('shop', { version: 102 }), clock.now()) })
    expect(await show(app, 'shop')).toEqual({ ...healthy, reportedAt: clock.now() })
  })

  test('an application whose manifest is empty is gone, and late states do not bring it back (O059)', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const first = argoApplication('shop', { version: 5 })
    await report(app, { data: [event(first, clock.now()), event(argoApplication('stays'), clock.now())] })
    clock.advance(1_000)
    expect(await report(app, { data: goneEvent('shop', clock.now()) })).toMatchObject({ taken: 1, ignored: 0 })
    expect(await namesOf(app)).toEqual(['stays'])
    await expect(show(app, 'shop')).rejects.toMatchObject({ code: 'not-found' })
    clock.advance(1_000)
    expect(await report(app, { data: event(argoApplication('shop', { version: 6 }), clock.now()) })).toMatchObject({
      taken: 0,
      ignored: 1,
    })
    expect(await namesOf(app)).toEqual(['stays'])
    const again = { uid: 'second', version: 7, createdAt: CREATED_AT + 60_000 }
    await report(app, { data: event(argoApplication('shop', again), clock.now()) })
    expect(await namesOf(app)).toEqual(['shop', 'stays'])
    expect(await report(app, { data: goneEvent('shop', clock.now() + 1) })).toMatchObject({ taken: 0, ignored: 1 })
    expect(await namesOf(app)).toEqual(['shop', 'stays'])
    clock.advance(1_000)
    const gone = argoApplication('stays')
    await report(app, { data: earlierEvent(gone, clock.now(), { actualManifest: '' }) })
    expect(await namesOf(app)).toEqual(['shop'])
    // A deletion that comes before the state.
    await report(app, { data: goneEvent('early', clock.now()) })
    await report(app, { data: event(argoApplication('early'), clock.now() - 1_000) })
    expect(await namesOf(app)).toEqual(['shop'])
    clock.advance(DAY_MS + 1)
    await retain(app)
    expect(await storedOf(app)).toEqual({ all: 1, neverSeen: 0 })
  })

  test('the chunks of a full state remove what none of them has, of their shard only (O060)', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const names = Array.from({ length: 12 }, (_, n) => `app-${n}`)
    const [mine, others] = [0, 1].map((shard) => names.filter((name) => shardOf('argocd', name, 2) === shard)) as [
      string[],
      string[],
    ]
    expect(Math.min(mine.length, others.length)).toBeGreaterThan(2)
    await report(app, { data: names.map((name) => event(argoApplication(name), clock.now())) })
    clock.advance(1_000)
    const startedAt = clock.now()
    const chunk = (shard: number, n: number, kept: readonly string[], more: Partial<FullState> = {}): Sent => ({
      data: kept.map((name) => event(argoApplication(name), clock.now())),
      reporter: { shard, shards: 2 },
      fullState: { id: `full state ${shard}`, startedAt, chunk: n, isLast: true, ...more },
    })
    const [first = '', second = ''] = mine
    clock.advance(1_000)
    // Created after the list was made, and reported before it is complete.
    const late = Array.from({ length: 20 }, (_, n) => `late-${n}`).find((name) => shardOf('argocd', name, 2) === 0) ?? ''
    await report(app, { data: event(argoApplication(late), clock.now()) })
    expect(await report(app, chunk(0, 1, [first], { isLast: false }))).toMatchObject({ taken: 1, ignored: 0 })
    expect(await namesOf(app)).toHaveLength(13)
    // A chunk without the one before it removes nothing.
    await report(app, chunk(0, 3, []))
    expect(await namesOf(app)).toHaveLength(13)
    await report(app, chunk(0, 2, [second]))
    const left = [first, second, late, ...others].toSorted()
    expect((await namesOf(app)).toSorted()).toEqual(left)
    // The same chunk again, and one of an earlier full state.
    await report(app, chunk(0, 2, [second]))
    await report(app, chunk(0, 2, [], { id: 'an earlier one' }))
    expect((await namesOf(app)).toSorted()).toEqual(left)
    // The list of another shard had missed an application that exists.
    const [missed = ''] = others
    await report(app, chunk(1, 1, others.slice(1)))
    expect(await namesOf(app)).not.toContain(missed)
    clock.advance(1)
    await report(app, { data: event(argoApplication(missed), clock.now()) })
    expect(await namesOf(app)).toContain(missed)
  })

  test.each([
    ['of one part', { shard: 0, shards: 1 }, 'app-0'],
    ['of two divisions', { shard: 1, shards: 2 }, 'app-0'],
  ])('two full states at once, %s, end nothing that exists (O060)', async (_, other, first) => {
    await using held = await openRuntime()
    const { app, clock } = held
    const names = Array.from({ length: 12 }, (__, n) => `app-${n}`)
    await report(app, { data: names.map((name) => event(argoApplication(name), clock.now())) })
    clock.advance(1_000)
    const startedAt = clock.now()
    const rest = names.filter((name) => name !== first)
    const send = async (id: string, chunk: 1 | 2): Promise<unknown> => {
      const reporter = id === 'other one' ? other : { shard: 0, shards: 1 }
      // Each has the applications in another order.
      const listed = ((chunk === 1) === (id === 'other one') ? rest : [first])
        .filter((name) => shardOf('argocd', name, reporter.shards) === reporter.shard)
        .map((name) => ({ namespace: 'argocd', name, version: '1' }))
      return report(app, { data: [], reporter, fullState: { id, startedAt, chunk, isLast: chunk === 2, listed } })
    }
    for (const chunk of [1, 2] as const) for (const id of ['first one', 'other one']) await send(id, chunk)
    expect((await namesOf(app)).toSorted()).toEqual(names.toSorted())
    for (const chunk of [1, 2] as const) for (const id of ['other one', 'again one']) await send(id, chunk)
    expect((await namesOf(app)).toSorted()).toEqual(names.toSorted())
  })

  test('a full state that only names applications keeps them, and gets the names of those that are missing or old (O060)', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const kept = { namespace: 'argocd', name: 'kept', version: '1' }
    await report(app, { data: ['kept', 'old', 'gone'].map((name) => event(argoApplication(name), clock.now())) })
    clock.advance(1_000)
    const old = { ...kept, name: 'old', version: '2' }
    const absent = { ...kept, name: 'absent' }
    const fullState = { id: 'names only', startedAt: clock.now(), chunk: 1, isLast: true, listed: [kept, old, absent] }
    expect(await report(app, { data: [], fullState })).toEqual({
      taken: 0,
      ignored: 0,
      wanted: [
        { namespace: 'argocd', name: 'old' },
        { namespace: 'argocd', name: 'absent' },
      ],
    })
    expect(await namesOf(app)).toEqual(['kept', 'old'])
  })

  test('a runtime that moves to another cluster shows its applications, although they are older there', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    await report(app, { data: event(argoApplication('shop', { version: 900 }), clock.now()) })
    const moved = argoApplication('shop', { uid: 'moved', version: 7, createdAt: CREATED_AT - DAY_MS, health: 'Degraded' })
    clock.advance(REPORTER_SILENT_MS)
    expect(await report(app, { data: event(moved, clock.now()) })).toMatchObject({ taken: 0 })
    clock.advance(1)
    expect(await report(app, { data: event(moved, clock.now()) })).toMatchObject({ taken: 1 })
    expect(await show(app, 'shop')).toMatchObject({ health: 'degraded', createdAt: CREATED_AT - DAY_MS })
  })

  test('of deletions of applications that were never reported only some are stored, and they take no room of others', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    for (let n = 0; n < 3; n += 1)
      await report(app, { data: Array.from({ length: 60 }, (_, m) => goneEvent(`gone-${n}-${m}`, clock.now())) })
    expect(await storedOf(app)).toEqual({ all: 100, neverSeen: 100 })
    expect(await report(app, { data: goneEvent('another', clock.now()) })).toMatchObject({ taken: 0, ignored: 1 })
    expect(await report(app, { data: event(argoApplication('shop'), clock.now()) })).toMatchObject({ taken: 1 })
    clock.advance(1_000)
    expect(await report(app, { data: goneEvent('shop', clock.now()) })).toMatchObject({ taken: 1 })
    expect(await storedOf(app)).toEqual({ all: 101, neverSeen: 100 })
  })

  test('lists are filtered, sorted and divided into pages', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const states = ['Healthy', 'Degraded', 'Progressing', 'Suspended', 'Missing', 'Strange'] as const
    for (const [n, health] of states.entries()) {
      clock.advance(1_000)
      const sync = n % 2 === 0 ? 'Synced' : 'OutOfSync'
      const object = argoApplication(`app-${n}`, {
        health,
        sync,
        project: n < 3 ? 'shop' : 'default',
        namespace: n === 5 ? 'team' : 'argocd',
      })
      await report(app, { data: event(object, clock.now()) })
    }
    expect(await namesOf(app, { sort: 'health' })).toEqual(['app-1', 'app-4', 'app-5', 'app-2', 'app-3', 'app-0'])
    expect(await namesOf(app, { sort: 'changed' })).toEqual(['app-5', 'app-4', 'app-3', 'app-2', 'app-1', 'app-0'])
    expect(await namesOf(app, { project: 'shop', sync: 'synced' })).toEqual(['app-0', 'app-2'])
    expect(await namesOf(app, { health: 'unknown' })).toEqual(['app-5'])
    expect(await namesOf(app, { namespace: 'team' })).toEqual(['app-5'])
    expect(await namesOf(app, { q: 'p-4', runtime: 'prod' })).toEqual(['app-4'])
    expect(await namesOf(app, { q: 'p_4' })).toEqual([])
    await expect(list(app, { runtime: 'elsewhere' })).rejects.toMatchObject({ code: 'not-found' })
    for (const sort of ['name', 'health', 'changed']) {
      const seen: string[] = []
      let cursor: string | undefined
      do {
        const page = await listApplicationPage(app, ApplicationQuery.parse({ sort, limit: 2, cursor }))
        seen.push(...page.items.map(({ name }) => name))
        cursor = page.next
      } while (cursor !== undefined)
      expect(seen).toEqual(await namesOf(app, { sort }))
    }
    const { next } = await listApplicationPage(app, ApplicationQuery.parse({ limit: 1 }))
    for (const cursor of ['nonsense', next])
      await expect(list(app, { sort: 'health', cursor })).rejects.toMatchObject({ code: 'request-invalid' })
    const withNul = writeCursor(['name', 'app\0', 'x'])
    await expect(list(app, { sort: 'name', cursor: withNul })).rejects.toMatchObject({ code: 'request-invalid' })
  })

  test('the migration finds by their labels what applications are for their runtimes', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const { query } = app.store
    const labelled = (name: string, entity: string): object => {
      const object = argoApplication(name) as { metadata: object }
      return { ...object, metadata: { ...object.metadata, labels: { 'codefresh.io/entity': entity } } }
    }
    const text = '"codefresh.io/entity":"component"'
    const plain = argoApplication('plain', { status: { health: { status: 'Degraded', message: text } } })
    const objects = [labelled('apps', 'git-source'), labelled('other', 'project'), plain]
    await report(app, { data: objects.map((object) => event(object, clock.now())) })
    await sql`drop index gitops_application_entity`.execute(query)
    await sql`alter table gitops_application drop column entity`.execute(query)
    await applicationEntities.up(query)
    const rows = () => query.selectFrom('gitops_application').select(['name', 'entity', 'version']).orderBy('name').execute()
    const [apps, other, last] = [
      { name: 'apps', entity: 'git-source', version: '1' },
      { name: 'other', entity: '', version: '' },
      { name: 'plain', entity: '', version: '1' },
    ]
    expect(await rows()).toEqual([apps, other, last])
    clock.advance(1_000)
    await report(app, { data: event(labelled('other', 'project'), clock.now()) })
    expect(await rows()).toEqual([apps, { name: 'other', entity: 'project', version: '1' }, last])
    const pathsOf = async (filter: object): Promise<string[]> => (await listApplicationNames(app, filter)).map(({ path }) => path)
    expect(await pathsOf({ entity: 'project' })).toEqual(['prod/argocd/other'])
    expect(await pathsOf({ runtime: 'prod', name: 'apps' })).toEqual(['prod/argocd/apps'])
    await expect(pathsOf({ runtime: 'elsewhere' })).rejects.toMatchObject({ code: 'not-found' })
  })

  test('a sync that runs for longer than the annotation allows has a warning (O045)', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const operationState = { phase: 'Running', startedAt: new Date(clock.now()).toISOString() }
    const annotations = { 'codefresh.io/app-sync-warning-threshold': '1' }
    const syncing = { sync: 'OutOfSync', status: { operationState } }
    await report(app, {
      data: [
        event(argoApplication('short', { ...syncing, annotations }), clock.now()),
        event(argoApplication('usual', syncing), clock.now()),
      ],
    })
    expect((await show(app, 'short')).why).toMatch(/^A sync runs\. /)
    clock.advance(MINUTE_MS)
    expect((await show(app, 'short')).why).toMatch(/^The sync has run for 1 min, and the limit is 1 min\. /)
    expect((await show(app, 'usual')).why).toMatch(/^A sync runs\. /)
  })

  test('applications of a silent runtime say since when, and go with their runtime', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    await report(app, { data: event(argoApplication('shop'), clock.now()) })
    const heardAt = clock.now()
    clock.advance(REPORTER_SILENT_MS)
    expect(await show(app, 'shop')).not.toHaveProperty('silentSince')
    clock.advance(1)
    expect(await show(app, 'shop')).toMatchObject({
      silentSince: heardAt,
      why: `The runtime "prod" has not reported since ${new Date(heardAt).toISOString()}, so this may be out of date.`,
    })
    await report(app, { data: [], reporter: { shard: 0, shards: 1, isBlind: true } })
    expect(await show(app, 'shop')).toMatchObject({ silentSince: heardAt })
    await report(app, { data: [], reporter: { shard: 0, shards: 1, version: '1.2.3' } })
    expect(await show(app, 'shop')).not.toHaveProperty('silentSince')
    const { id = '' } = (await findGitopsRuntime(app.store.query, app.accountId, 'prod')) ?? {}
    await removeGitopsRuntime(app, 'prod')
    expect(await list(app)).toEqual([])
    expect(await countApplications(app.store.query, id)).toEqual({ all: 0, neverSeen: 0 })
    await expect(report(app, { data: [] })).rejects.toMatchObject({ code: 'unauthenticated' })
  })

  test('a part that has no reporter is silent since the division is known', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const reporter = { shard: 1, shards: 3 }
    await report(app, { data: event(argoApplication('shop'), clock.now()), reporter })
    const knownAt = clock.now()
    clock.advance(REPORTER_SILENT_MS)
    await report(app, { data: [], reporter })
    expect(await show(app, 'shop')).not.toHaveProperty('silentSince')
    clock.advance(1)
    await report(app, { data: [], reporter: { shard: 0, shards: 3 } })
    expect(await show(app, 'shop')).toMatchObject({ silentSince: knownAt })
    await report(app, { data: [], reporter: { shard: 2, shards: 3 } })
    expect(await show(app, 'shop')).not.toHaveProperty('silentSince')
  })

  test('two reports at once of one runtime are both stored', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const data = (first: number): object[] =>
      Array.from({ length: 20 }, (_, n) => event(argoApplication(`app-${first + n}`), clock.now()))
    await Promise.all([report(app, { data: data(0) }), report(app, { data: data(10) }), report(app, { data: data(20) })])
    expect(await list(app)).toHaveLength(40)
  })
})
