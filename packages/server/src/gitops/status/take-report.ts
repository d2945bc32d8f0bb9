/** Stores what the app-proxy of a GitOps runtime says about the runtime and its clusters. */
import { fault } from '@windlass/kit'
import { ClusterState, type ClusterReport, type RuntimeReport } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { lockReportedRuntime } from '../../store/runtimes/applications.ts'
import {
  deleteLeftClusters,
  listClusterServers,
  saveReportedClusters,
  saveRuntimeStatus,
} from '../../store/runtimes/runtime-status.ts'

/** Clusters of a runtime that are stored. */
const MAX_CLUSTERS = 2_000

/** Throws `unauthenticated` if the runtime was deleted in the meantime. */
export async function takeRuntimeReport(app: App, runtimeId: string, report: RuntimeReport): Promise<void> {
  await app.store.write(async (tx) => {
    if (!(await lockReportedRuntime(tx, runtimeId))) throw fault('unauthenticated')
    await saveRuntimeStatus(tx, {
      runtime_id: runtimeId,
      account_id: app.accountId,
      version: report.version,
      report: JSON.stringify(report),
      seen_at: app.clock.now(),
    })
  })
}

/** Stores a chunk. After the last one of a report, clusters are gone that neither it nor a later one has. Throws like `takeRuntimeReport`. */
export async function takeClusterReport(
  app: App,
  runtimeId: string,
  { id, isLast, ageMs, clusters }: ClusterReport,
): Promise<void> {
  await app.store.write(async (tx) => {
    if (!(await lockReportedRuntime(tx, runtimeId))) throw fault('unauthenticated')
    const now = app.clock.now()
    const known = await listClusterServers(tx.query, runtimeId)
    // A cluster that is in the chunk twice would be an error of the database.
    const given = [...new Map(clusters.map((cluster) => [cluster.server, cluster])).values()]
    const added = given.filter(({ server }) => !known.has(server)).slice(0, Math.max(0, MAX_CLUSTERS - known.size))
    const taken = [...given.filter(({ server }) => known.has(server)), ...added]
    if (taken.length < given.length)
      app.log.warn({ runtimeId, clusters: given.length - taken.length }, 'too many clusters are stored; new ones are left out')
    const rows = taken.map((cluster) => ({
      runtime_id: runtimeId,
      account_id: app.accountId,
      server: cluster.server,
      name: cluster.name,
      connection: cluster.connection.state,
      // Without fields of a newer app-proxy.
      facts: JSON.stringify(ClusterState.parse(cluster)),
      report: id,
      reported_at: now,
    }))
    await saveReportedClusters(tx, rows)
    if (isLast) await deleteLeftClusters(tx, { runtimeId, report: id, before: now - ageMs })
  })
}
