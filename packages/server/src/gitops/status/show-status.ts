/** What callers see of GitOps runtimes: what works and what is broken. */
import { RuntimeReport, type RuntimeStatus } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { countReportedClusters, listReportersByRuntime, listRuntimeStatuses } from '../../store/runtimes/runtime-status.ts'
import type { GitopsReporterRow, RuntimeStatusRow } from '../../store/schema/schema.ts'
import { listShownTunnels } from '../registry.ts'
import { unknownRuntime } from '../runtimes.ts'
import { readGitopsSettings } from '../settings.ts'
import { judgeRuntime, type RuntimeFacts } from './judge.ts'

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
