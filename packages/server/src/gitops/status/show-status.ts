/** What callers see of GitOps runtimes and their clusters. */
import { ClusterState, RuntimeReport, type ReportedCluster, type RuntimeStatus } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { findGitopsRuntime, listGitopsRuntimeNames } from '../../store/runtimes/gitops.ts'
import {
  countReportedClusters,
  listReportedClusters,
  listReportersByRuntime,
  listRuntimeStatuses,
} from '../../store/runtimes/runtime-status.ts'
import type { GitopsReporterRow, RuntimeStatusRow } from '../../store/schema/schema.ts'
import { listShownTunnels } from '../registry.ts'
import { unknownRuntime } from '../runtimes.ts'
import { readGitopsSettings } from '../settings.ts'
import { judgeRuntime, type RuntimeFacts } from './judge.ts'

/** Where Argo CD has the cluster of its own. */
const OWN_SERVER = 'https://kubernetes.default.svc'

/** Returns what works and what is broken in each runtime, by name. */
export async function listShownStatuses(app: App): Promise<RuntimeStatus[]> {
  const { store, accountId, clock } = app
  const { query } = store
  const [tunnels, statuses, reporters, clusters, settings] = await Promise.all([
    listShownTunnels(app),
    listRuntimeStatuses(query, accountId),
    listReportersByRuntime(query, accountId),
    countReportedClusters(query, accountId),
    readGitopsSettings(query, accountId),
  ])
  return tunnels.map(({ id, runtime, ...tunnel }) =>
    judgeRuntime(
      {
        runtime,
        tunnel,
        appProxy: toAppProxy(statuses.get(id)),
        reporters: (reporters.get(id) ?? []).map(toReporter),
        clusters: clusters.get(id) ?? { count: 0, failed: 0 },
        hasSharedRepository: settings.sharedRepository !== undefined,
      },
      clock.now(),
    ),
  )
}

/** Throws `not-found`. */
export async function showStatus(app: App, name: string): Promise<RuntimeStatus> {
  const all = await listShownStatuses(app)
  return all.find(({ runtime }) => runtime === name) ?? unknownRuntime(name)
}

function toAppProxy(row: RuntimeStatusRow | undefined): RuntimeFacts['appProxy'] {
  return row && { report: RuntimeReport.parse(JSON.parse(row.report)), heardAt: row.seen_at }
}

function toReporter(row: GitopsReporterRow): RuntimeFacts['reporters'][number] {
  const { shard, shards, version, heard_at: heardAt, seen_at: knownAt, is_blind: isBlind } = row
  const times = heardAt === null ? {} : { heardAt, completeAt: knownAt }
  return { shard, shards, version, isBlind: isBlind === 1, knownAt, ...times }
}

/** Lists the clusters that the Argo CDs of runtimes know, or that of one runtime. The cluster of a runtime itself comes first. Throws `not-found`. */
export async function listShownClusters(app: App, runtime: string | undefined): Promise<ReportedCluster[]> {
  const { store, accountId } = app
  const found = runtime === undefined ? undefined : await findGitopsRuntime(store.query, accountId, runtime)
  if (runtime !== undefined && found === undefined) unknownRuntime(runtime)
  const names = await listGitopsRuntimeNames(store.query, accountId)
  const rows = await listReportedClusters(store.query, accountId, found?.id)
  return rows
    .map((row) => ({
      ...ClusterState.parse(JSON.parse(row.facts)),
      runtime: names.get(row.runtime_id) ?? '',
      reportedAt: row.reported_at,
    }))
    .toSorted((a, b) => compare(a.runtime, b.runtime) || Number(b.server === OWN_SERVER) - Number(a.server === OWN_SERVER))
}

function compare(one: string, other: string): number {
  return one < other ? -1 : Number(one > other)
}
