/** What GitOps runtimes say about themselves and their clusters, in the store. */
import {
  APP_PROXY_SILENT_MS,
  ClusterReport,
  REPORTER_SILENT_MS,
  ReportedClusterQuery,
  type ClusterState,
  type ReportedCluster,
  type RuntimeReport,
} from '@windlass/protocol'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { createGitopsToken, removeGitopsRuntime } from '../../../src/gitops/runtimes.ts'
import { chooseSharedRepository } from '../../../src/gitops/settings.ts'
import { listClusterPage, openClusterStates } from '../../../src/gitops/status/show-clusters.ts'
import { listShownStatuses, showStatus } from '../../../src/gitops/status/show-status.ts'
import { takeClusterReport, takeRuntimeReport } from '../../../src/gitops/status/take-report.ts'
import { findGitopsRuntime } from '../../../src/store/runtimes/gitops.ts'
import { report } from '../../support/fakes/application-reporter.ts'
import { DATABASES, openTestApp, type Database, type TestApp } from '../../support/stores.ts'

const REPORT: RuntimeReport = {
  version: '1.2.3',
  checks: {
    isc: { status: 'successful', description: 'Argo CD applies it.' },
    runtimeGitToken: { status: 'failed', description: 'The forge refuses the Git token.', hint: 'Register another one.' },
    ofNewerVersion: { status: 'failed', description: 'Unknown here.' },
  },
  syncMode: 'gitops',
  argoCd: { state: 'connected' },
}

const cluster = (n: number, state: ClusterState['connection']['state'] = 'successful'): ClusterState => ({
  name: `cluster-${n}`,
  server: `https://10.0.0.${n}`,
  connection: { state },
  version: 'v1.34.1',
})

interface Page {
  readonly items: readonly ReportedCluster[]
  readonly next?: string
}

const pageOf = (app: App, query: object = {}): Promise<Page> => listClusterPage(app, ReportedClusterQuery.parse(query))
const namesOf = ({ items }: Page): string[] => items.map(({ name }) => name)

describe.each(DATABASES)('status of runtimes on $name', ({ open }) => {
  let database: Database
  beforeAll(async () => {
    database = await open()
  })
  afterAll(() => database[Symbol.asyncDispose]())

  async function openRuntime(): Promise<TestApp & { readonly id: string }> {
    const held = await openTestApp(database)
    await createGitopsToken(held.app, { runtime: 'prod', by: 'tester' })
    const { id = '' } = (await findGitopsRuntime(held.app.store.query, held.app.accountId, 'prod')) ?? {}
    return { ...held, id }
  }

  const failedOf = async (app: App): Promise<string[]> =>
    (await showStatus(app, 'prod')).checks.filter(({ status }) => status === 'failed').map(({ name }) => name)

  test('the last report counts until the app-proxy is silent, and goes with its runtime', async () => {
    await using held = await openRuntime()
    const { app, clock, id } = held
    expect((await showStatus(app, 'prod')).appProxy).toEqual({ isSilent: false })
    await takeRuntimeReport(app, id, { ...REPORT, version: '1.2.2' })
    await takeRuntimeReport(app, id, REPORT)
    expect(await failedOf(app)).toEqual(['runtimeGitToken', 'isc'])
    await chooseSharedRepository(app, { sharedRepository: 'https://git.test/gitops.git', by: 'tester' })
    expect(await failedOf(app)).toEqual(['runtimeGitToken'])
    const heardAt = clock.now()
    expect(await showStatus(app, 'prod')).toMatchObject({
      syncMode: 'gitops',
      argoCd: { state: 'connected' },
      appProxy: { version: '1.2.3', heardAt, isSilent: false },
      problems: ['The forge refuses the Git token. Register another one.'],
    })
    clock.advance(APP_PROXY_SILENT_MS)
    expect(await failedOf(app)).toEqual(['runtimeGitToken'])
    clock.advance(1)
    expect(await failedOf(app)).toEqual(['appProxyStarted'])
    await removeGitopsRuntime(app, 'prod')
    expect(await listShownStatuses(app)).toEqual([])
    await expect(takeRuntimeReport(app, id, REPORT)).rejects.toMatchObject({ code: 'unauthenticated' })
    await expect(showStatus(app, 'prod')).rejects.toMatchObject({ code: 'not-found' })
  })

  test('each reporter has its own last report, also one that cannot read everything', async () => {
    await using held = await openRuntime()
    const { app, clock } = held
    const at = clock.now()
    await report(app, { data: [], reporter: { shard: 0, shards: 2, version: '1.2.3' } })
    clock.advance(1_000)
    await report(app, { data: [], reporter: { shard: 0, shards: 2, version: '1.2.3', isBlind: true } })
    expect((await showStatus(app, 'prod')).reporters).toEqual([
      { shard: 0, shards: 2, version: '1.2.3', isBlind: true, isSilent: false, heardAt: at + 1_000, completeAt: at },
      { shard: 1, shards: 2, version: '', isBlind: false, isSilent: false },
    ])
    clock.advance(REPORTER_SILENT_MS)
    const { reporters } = await showStatus(app, 'prod')
    expect(reporters.map(({ isSilent }) => isSilent)).toEqual([false, true])
    await report(app, { data: [], reporter: { shard: 1, shards: 2, version: '1.2.3' } })
    expect((await showStatus(app, 'prod')).reporters[1]).toMatchObject({ heardAt: clock.now(), isSilent: false })
  })

  test('clusters come in chunks, and the last chunk removes those that are gone', async () => {
    await using held = await openRuntime()
    const { app, clock, id } = held
    const shown = async (): Promise<string[]> => namesOf(await pageOf(app, { runtime: 'prod' }))
    const own: ClusterState = { name: 'in-cluster', server: 'https://kubernetes.default.svc', connection: { state: 'unknown' } }
    await takeClusterReport(app, id, { id: 'report-1', isLast: false, ageMs: 0, clusters: [cluster(1), cluster(2)] })
    await takeClusterReport(app, id, { id: 'report-1', isLast: true, ageMs: 5, clusters: [cluster(3, 'failed'), own] })
    expect(await shown()).toEqual(['in-cluster', 'cluster-1', 'cluster-2', 'cluster-3'])
    expect((await showStatus(app, 'prod')).clusters).toEqual({ count: 4, failed: 1 })
    clock.advance(60_000)
    // While a report is in progress, another app-proxy has found a cluster.
    await takeClusterReport(app, id, { id: 'report-2', isLast: false, ageMs: 0, clusters: [cluster(1)] })
    clock.advance(10)
    await takeClusterReport(app, id, { id: 'report-3', isLast: false, ageMs: 0, clusters: [cluster(4)] })
    await takeClusterReport(app, id, { id: 'report-2', isLast: true, ageMs: 10, clusters: [own] })
    expect(await shown()).toEqual(['in-cluster', 'cluster-1', 'cluster-4'])
    expect((await pageOf(app)).items).toContainEqual({ ...cluster(4), runtime: 'prod', reportedAt: clock.now() })
    const named = ['cluster-1', 'https://10.0.0.4', 'cluster-2'].map((name) => ({ runtimeId: id, cluster: name }))
    const find = await openClusterStates(app, [...named, { runtimeId: 'another', cluster: 'cluster-1' }])
    expect(named.map((one) => find(one)?.name)).toEqual(['cluster-1', 'cluster-4', undefined])
    await removeGitopsRuntime(app, 'prod')
    expect((await pageOf(app)).items).toEqual([])
    await expect(pageOf(app, { runtime: 'prod' })).rejects.toMatchObject({ code: 'not-found' })
  })

  test('clusters of all runtimes are listed in pages of 100, and their texts are cut', async () => {
    await using held = await openRuntime()
    const { app, id } = held
    await createGitopsToken(app, { runtime: 'edge', by: 'tester' })
    const { id: edge = '' } = (await findGitopsRuntime(app.store.query, app.accountId, 'edge')) ?? {}
    const own: ClusterState = { name: 'zero', server: 'https://kubernetes.default.svc', connection: { state: 'unknown' } }
    const long = (n: number): object => ({
      ...cluster(n, 'failed'),
      name: `cluster-${String(n).padStart(3, '0')} ${'n'.repeat(2_000)}`,
      connection: { state: 'failed', message: `no\nroute ${'m'.repeat(2_000)}` },
      version: 'v'.repeat(2_000),
    })
    const all = Array.from({ length: 150 }, (_, n) => long(n))
    const report = ClusterReport.parse({ id: 'report-1', isLast: true, ageMs: 0, clusters: [...all, own] })
    for (const runtime of [id, edge]) await takeClusterReport(app, runtime, report)
    const first = await pageOf(app)
    expect(first.items).toHaveLength(100)
    expect(JSON.stringify(first.items).length).toBeLessThan(100_000)
    expect(first.items[1]).toMatchObject({
      name: `cluster-000 ${'n'.repeat(241)}`,
      version: 'v'.repeat(50),
      connection: { message: `no route ${'m'.repeat(291)}` },
    })
    const seen = [first]
    for (let next = first.next; next !== undefined; next = seen.at(-1)?.next) seen.push(await pageOf(app, { cursor: next }))
    expect(seen.map(({ items }) => items.length)).toEqual([100, 100, 100, 2])
    const places = seen.flatMap(({ items }) => items.map(({ runtime, name }) => `${runtime} ${name.slice(0, 11)}`))
    const wanted = ['zero', ...all.map((_, n) => `cluster-${String(n).padStart(3, '0')}`)]
    expect(places).toEqual(['edge', 'prod'].flatMap((runtime) => wanted.map((name) => `${runtime} ${name}`)))
    const wrong = ['nonsense', '["prod"]', '["prod",2,"",""]', '["prod",1,"\\u0000",""]']
    for (const cursor of wrong.map((text) => Buffer.from(text).toString('base64url')))
      await expect(pageOf(app, { cursor })).rejects.toMatchObject({ code: 'request-invalid' })
    expect(ReportedClusterQuery.safeParse({ limit: 101 }).success).toBe(false)
    expect(ClusterReport.safeParse({ ...report, clusters: [{ ...own, server: `https://${'s'.repeat(500)}` }] }).success).toBe(
      false,
    )
  })
})
