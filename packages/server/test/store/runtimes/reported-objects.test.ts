/** Reported rollouts, their ReplicaSets and workflows in the store: both shapes of reports, late ones, full states, lists and what is kept. */
import { openSync } from 'node:fs'
import { readFile, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { openLog } from '@windlass/kit'
import {
  MAX_OBJECT_HISTORY,
  ReportedRolloutQuery,
  ReportedWorkflowQuery,
  type FullState,
  type ReportedKind,
} from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { memoryFolder } from '../../../../../e2e/support/memory-folder.ts'
import type { App } from '../../../src/app.ts'
import { listRolloutPage, listWorkflowPage, showRollout, showWorkflow } from '../../../src/gitops/objects/show-objects.ts'
import { createGitopsToken, removeGitopsRuntime } from '../../../src/gitops/runtimes.ts'
import { retain } from '../../../src/retention.ts'
import { findGitopsRuntime } from '../../../src/store/runtimes/gitops.ts'
import { findNamedObjects, findStoredObjects } from '../../../src/store/runtimes/reported-objects.ts'
import type { ReportedObjectRow } from '../../../src/store/schema/schema.ts'
import { argoApplication, CREATED_AT, earlierEvent, event, report } from '../../support/fakes/application-reporter.ts'
import { argoRollout, argoWorkflow, objectGone, replicaSetOf } from '../../support/fakes/reported-objects.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'

const DAY_MS = 86_400_000

const rolloutsOf = async (app: App, query: object = {}): Promise<string[]> =>
  (await listRolloutPage(app, ReportedRolloutQuery.parse(query))).items.map(({ name }) => name)
const workflowsOf = async (app: App, query: object = {}): Promise<string[]> =>
  (await listWorkflowPage(app, ReportedWorkflowQuery.parse(query))).items.map(({ name }) => name)

describe.each(DATABASES)('reported objects on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  async function openRuntime(options: Parameters<typeof openTestApp>[1] = {}): Promise<TestApp> {
    const held = await openTestApp(database, options)
    await createGitopsToken(held.app, { runtime: 'prod', by: 'tester' })
    return held
  }

  test('both shapes of a payload store the same rollout with its revisions, and ReplicaSets of others are left out', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const at = clock.now()
    const rollout = argoRollout('front', { step: 1, message: 'CanaryPauseStep' })
    const sets = [replicaSetOf('front', 1), replicaSetOf('front', 2), replicaSetOf('api', 1, { kind: 'Deployment' })]
    expect(await report(app, { data: [event(rollout, at), ...sets.map((set) => event(set, at))] })).toMatchObject({
      taken: 3,
      ignored: 1,
    })
    const shown = await showRollout(app, 'prod/shop/front')
    expect(shown).toEqual({
      id: expect.any(String),
      runtime: 'prod',
      namespace: 'shop',
      name: 'front',
      uid: 'uid-of-front',
      application: 'shop',
      strategy: 'canary',
      phase: 'paused',
      message: 'CanaryPauseStep',
      isComplete: false,
      isAborted: false,
      currentStep: 1,
      steps: 2,
      weight: 50,
      revision: 2,
      replicas: { wanted: 2, updated: 1, available: 2 },
      since: at,
      reportedAt: at,
      createdAt: CREATED_AT,
      revisions: [2, 1].map((revision) => ({
        revision,
        name: `front-${revision}`,
        images: [`registry.test/front:${revision}`],
        replicas: { wanted: 1, available: 1 },
        createdAt: CREATED_AT + revision * 1_000,
      })),
      history: [{ at, phase: 'paused', message: 'CanaryPauseStep', currentStep: 1, weight: 50, revision: 2 }],
    })
    expect(await showRollout(app, shown.id)).toEqual(shown)
    const other = argoRollout('front', { step: 1, message: 'CanaryPauseStep', namespace: 'team' })
    await report(app, { data: earlierEvent(other, at, { appName: 'shop', appNamespace: 'argocd' }) })
    expect(await showRollout(app, 'prod/team/front')).toEqual({
      ...shown,
      id: expect.any(String),
      namespace: 'team',
      revisions: [],
    })
    const workflow = argoWorkflow('build-1')
    await report(app, { data: [event(workflow, at), earlierEvent(argoWorkflow('build-1', { namespace: 'team' }), at)] })
    const built = await showWorkflow(app, 'prod/shop/build-1')
    expect(built).toMatchObject({ phase: 'running', progress: '1/2', template: 'build', by: 'dan' })
    expect(await showWorkflow(app, 'prod/team/build-1')).toEqual({ ...built, id: expect.any(String), namespace: 'team' })
    await expect(showRollout(app, 'prod/shop/none')).rejects.toMatchObject({ code: 'not-found' })
    await expect(showWorkflow(app, shown.id)).rejects.toMatchObject({ code: 'not-found' })
    // A report reads nothing of the same name elsewhere, of which a runtime could have thousands.
    const { id: runtimeId = '' } = (await findGitopsRuntime(app.store.query, app.accountId, 'prod')) ?? {}
    const places = ['shop', 'none'].map((namespace) => ({ kind: 'Workflow', namespace, name: 'build-1' }) as const)
    for (const find of [findStoredObjects, findNamedObjects])
      expect(await find(app.store.query, runtimeId, places)).toEqual([expect.objectContaining({ ...places[0], id: built.id })])
  })

  test('the history has each phase, step, weight and revision once, the newest first, and no more than its limit', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const send = async (version: number, shown: object): Promise<unknown> => {
      clock.advance(1_000)
      return report(app, { data: event(argoRollout('front', { version, ...shown }), clock.now()) })
    }
    await send(1, { step: 0, phase: 'Progressing' })
    await send(2, { step: 0, phase: 'Progressing', message: 'more replicas need to be updated' })
    await send(3, { step: 1 })
    const paused = await showRollout(app, 'prod/shop/front')
    expect(paused.since).toBe(clock.now())
    await send(5, { step: 1, status: { availableReplicas: 1 } })
    expect(await send(4, { step: 0 })).toMatchObject({ taken: 0, ignored: 1 })
    const shown = await showRollout(app, 'prod/shop/front')
    expect(shown).toMatchObject({ since: paused.since, replicas: { available: 1 } })
    expect(shown.history.map(({ phase, currentStep, weight }) => [phase, currentStep, weight])).toEqual([
      ['paused', 1, 50],
      ['progressing', 0, 50],
    ])
    for (let n = 0; n < MAX_OBJECT_HISTORY + 5; n += 1) await send(10 + n, { revision: 3 + n })
    const { history } = await showRollout(app, 'prod/shop/front')
    expect(history).toHaveLength(MAX_OBJECT_HISTORY)
    expect(history[0]).toMatchObject({ revision: 2 + MAX_OBJECT_HISTORY + 5 })
    // Another rollout of this name begins with none.
    await send(100, { uid: 'second', createdAt: CREATED_AT + 60_000 })
    expect((await showRollout(app, 'prod/shop/front')).history).toHaveLength(1)
  })

  test('a rollout that is gone is not shown and does not come back, and a workflow that is gone is shown for a week', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const failed = {
      phase: 'Failed',
      status: {
        finishedAt: '2027-01-10T08:00:09Z',
        message: 'child test failed',
        nodes: {
          a: { type: 'Pod', phase: 'Failed', displayName: 'test', message: 'exit code 1' },
          b: { type: 'Pod', phase: 'Succeeded', displayName: 'compile' },
        },
      },
    }
    await report(app, { data: [event(argoRollout('front'), clock.now()), event(argoWorkflow('build-1'), clock.now())] })
    clock.advance(1_000)
    await report(app, { data: event(argoWorkflow('build-1', { version: 2, ...failed }), clock.now()) })
    clock.advance(1_000)
    const goneAt = clock.now()
    const ends = [objectGone('Rollout', 'front', { at: goneAt }), objectGone('Workflow', 'build-1', { at: goneAt })]
    expect(await report(app, { data: [...ends, objectGone('Workflow', 'never-seen', { at: goneAt })] })).toMatchObject({
      taken: 2,
      ignored: 1,
    })
    expect(await rolloutsOf(app)).toEqual([])
    clock.advance(1_000)
    await report(app, { data: event(argoRollout('front', { version: 3 }), clock.now()) })
    expect(await rolloutsOf(app)).toEqual([])
    expect(await showWorkflow(app, 'prod/shop/build-1')).toMatchObject({
      phase: 'failed',
      message: 'child test failed',
      startedAt: Date.parse('2027-01-10T08:00:01Z'),
      finishedAt: Date.parse('2027-01-10T08:00:09Z'),
      goneAt,
      failedNodes: [{ name: 'test', message: 'exit code 1' }],
      history: [{ phase: 'failed' }, { phase: 'running' }],
    })
    clock.advance(7 * DAY_MS - 10_000)
    await retain(app)
    expect(await workflowsOf(app)).toEqual(['build-1'])
    clock.advance(10_001)
    await retain(app)
    expect(await workflowsOf(app)).toEqual([])
  })

  test('a full state ends objects of the kinds that it has, and gets the names of those that are missing or old', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const at = clock.now()
    const objects = [
      argoRollout('kept'),
      argoRollout('old'),
      argoRollout('left'),
      argoWorkflow('build-1'),
      argoApplication('shop'),
    ]
    await report(app, { data: objects.map((object) => event(object, at)) })
    clock.advance(1_000)
    const state = (id: string, kinds: ReportedKind[] | undefined): FullState => ({
      id,
      startedAt: clock.now(),
      chunk: 1,
      isLast: true,
      listed: [{ namespace: 'argocd', name: 'shop', version: '1' }],
      ...(kinds !== undefined && {
        kinds,
        objects: [
          { kind: 'Rollout', namespace: 'shop', name: 'kept', version: '1' },
          { kind: 'Rollout', namespace: 'shop', name: 'old', version: '2' },
          { kind: 'Rollout', namespace: 'shop', name: 'absent', version: '1' },
        ],
      }),
    })
    // An earlier reporter knows applications only.
    expect(await report(app, { data: [], fullState: state('of an earlier reporter', undefined) })).toEqual({
      taken: 0,
      ignored: 0,
      wanted: [],
    })
    expect(await rolloutsOf(app)).toEqual(['kept', 'left', 'old'])
    expect(await report(app, { data: [], fullState: state('without workflows', ['Rollout']) })).toEqual({
      taken: 0,
      ignored: 0,
      wanted: [],
      wantedObjects: [
        { kind: 'Rollout', namespace: 'shop', name: 'old' },
        { kind: 'Rollout', namespace: 'shop', name: 'absent' },
      ],
    })
    expect(await rolloutsOf(app)).toEqual(['kept', 'old'])
    expect(await showWorkflow(app, 'prod/shop/build-1')).not.toHaveProperty('goneAt')
    await report(app, { data: [], fullState: state('of both kinds', ['Rollout', 'Workflow']) })
    expect(await showWorkflow(app, 'prod/shop/build-1')).toHaveProperty('goneAt')
    await removeGitopsRuntime(app, 'prod')
    expect([await rolloutsOf(app), await workflowsOf(app)]).toEqual([[], []])
  })

  test('objects of a kind that a reporter does not read any more are out of date, and are deleted after a week, but not those of a silent runtime', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const objects = [argoRollout('front'), argoWorkflow('build-1')]
    const stateOf = (kinds: readonly ReportedKind[]): FullState => ({
      id: `of ${String(clock.now())}`,
      startedAt: clock.now(),
      chunk: 1,
      isLast: true,
      listed: [],
      kinds: [...kinds],
      objects: [
        { kind: 'Rollout' as const, namespace: 'shop', name: 'front', version: '1' },
        { kind: 'Workflow' as const, namespace: 'shop', name: 'build-1', version: '1' },
      ].filter(({ kind }) => kinds.includes(kind)),
    })
    const state = async (...kinds: ReportedKind[]): Promise<unknown> => report(app, { data: [], fullState: stateOf(kinds) })
    const silentSince = async (): Promise<unknown[]> => [
      (await showRollout(app, 'prod/shop/front')).silentSince,
      (await showWorkflow(app, 'prod/shop/build-1')).silentSince,
    ]
    await report(app, { data: objects.map((object) => event(object, clock.now())) })
    await state('Rollout', 'Workflow')
    const listedAt = clock.now()
    for (let n = 0; n < 3; n += 1) {
      clock.advance(600_000)
      await state('Rollout')
    }
    expect(await silentSince()).toEqual([undefined, listedAt])
    clock.advance(7 * DAY_MS)
    // The runtime has reported nothing since, so what is known of it stays.
    await retain(app)
    expect([await rolloutsOf(app), await workflowsOf(app)]).toEqual([['front'], ['build-1']])
    await state('Rollout')
    expect(await silentSince()).toEqual([undefined, listedAt])
    await retain(app)
    expect([await rolloutsOf(app), await workflowsOf(app)]).toEqual([['front'], []])
  })

  test('lists have pages and filters, and without room the workflow that has been gone for longest makes it', async () => {
    const folder = await memoryFolder('windlass-log-')
    const file = join(folder, 'log')
    await using held = await openRuntime({ log: openLog({ level: 'warn', name: 'server', fd: openSync(file, 'w') }) })
    const { app, clock } = held
    const at = clock.now()
    const names = ['c', 'a', 'b']
    const created = (n: number): object => ({ createdAt: CREATED_AT + n * 1_000, phase: n === 1 ? 'Failed' : 'Succeeded' })
    await report(app, {
      data: names.flatMap((name, n) => [event(argoRollout(name), at), event(argoWorkflow(name, created(n)), at)]),
    })
    const pages: string[][] = []
    for (let cursor: string | undefined; pages.length < 3;) {
      const page = await listWorkflowPage(app, ReportedWorkflowQuery.parse({ limit: 2, cursor }))
      pages.push(page.items.map(({ name }) => name))
      cursor = page.next
      if (cursor === undefined) break
      await expect(listRolloutPage(app, ReportedRolloutQuery.parse({ cursor }))).rejects.toMatchObject({
        code: 'request-invalid',
      })
    }
    expect(pages).toEqual([['b', 'a'], ['c']])
    expect(await rolloutsOf(app)).toEqual(['a', 'b', 'c'])
    expect(await rolloutsOf(app, { application: 'none' })).toEqual([])
    expect(await rolloutsOf(app, { application: 'shop', phase: 'paused', q: 'b', runtime: 'prod' })).toEqual(['b'])
    expect(await workflowsOf(app, { phase: 'failed', template: 'build' })).toEqual(['a'])
    expect(await workflowsOf(app, { uid: 'uid-of-c' })).toEqual(['c'])
    await expect(rolloutsOf(app, { runtime: 'none' })).rejects.toMatchObject({ code: 'not-found' })

    clock.advance(1)
    await report(app, { data: objectGone('Workflow', 'c', { at: clock.now() }) })
    const [row] = await app.store.query
      .selectFrom('gitops_object')
      .selectAll()
      .where('name', '=', 'a')
      .where('kind', '=', 'Workflow')
      .execute()
    const { id: runtimeId = '' } = (await findGitopsRuntime(app.store.query, app.accountId, 'prod')) ?? {}
    const filled = Array.from({ length: 4_997 }, (_, n): ReportedObjectRow => {
      if (row === undefined) throw new Error('there is no workflow')
      return { ...row, id: String(n).padStart(24, '0'), name: `old-${n}`, runtime_id: runtimeId }
    })
    await app.store.write(async (tx) => {
      for (let from = 0; from < filled.length; from += 1_000)
        await tx.query
          .insertInto('gitops_object')
          .values(filled.slice(from, from + 1_000))
          .execute()
    })
    clock.advance(1_000)
    const more = ['x', 'y', 'z'].map((name) => event(argoWorkflow(name), clock.now()))
    expect(await report(app, { data: more })).toMatchObject({ taken: 1, ignored: 2 })
    expect([await workflowsOf(app, { uid: 'uid-of-c' }), await workflowsOf(app, { uid: 'uid-of-x' })]).toEqual([[], ['x']])
    // The report has one line in the log, and the reporter is not asked for what would be left out again.
    await expect.poll(() => readFile(file, 'utf8')).toMatch(/"count":2,.*\n/)
    expect((await readFile(file, 'utf8')).match(/too many objects/g)).toHaveLength(1)
    const objects = (['Workflow', 'Rollout'] as const).flatMap((kind) =>
      ['x', 'y'].map((name) => ({ kind, namespace: 'shop', name, version: '2' })),
    )
    const fullState = {
      id: 'without room',
      startedAt: clock.now(),
      chunk: 1,
      isLast: false,
      kinds: ['Workflow' as const],
      objects,
    }
    const { wantedObjects = [] } = await report(app, { data: [], fullState })
    expect(wantedObjects.map(({ kind, name }) => `${kind} ${name}`)).toEqual(['Workflow x', 'Rollout x', 'Rollout y'])
    await rm(folder, { recursive: true })
  })
})
