/** The clusters that the Argo CDs of GitOps runtimes know, as callers see them. */
import { defined } from '@windlass/kit'
import { ClusterState, type ReportedCluster, type ReportedClusterQuery } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { CursorText, readCursor, writeCursor } from '../../store/cursor.ts'
import { findGitopsRuntime } from '../../store/runtimes/gitops.ts'
import { findReportedClusters, listReportedClusters, type NamedCluster } from '../../store/runtimes/runtime-status.ts'
import type { ReportedClusterRow } from '../../store/schema/schema.ts'
import { unknownRuntime } from '../runtimes.ts'

export type StoredCluster = Omit<ReportedCluster, 'runtime'>

interface Page {
  readonly items: ReportedCluster[]
  readonly next?: string
}

/** Runtime, 1 for a cluster that is not its own, name and URL: the order of the list. */
const Cursor = z.tuple([CursorText, z.literal([0, 1]), CursorText, CursorText])

/**
 * Returns a page of the clusters of all runtimes, or of one. The cluster of a runtime itself comes first. Throws `not-found` for an unknown runtime, and `request-invalid` for
 * a cursor of another list.
 */
export async function listClusterPage(
  { store, accountId }: App,
  { runtime, cursor, limit }: ReportedClusterQuery,
): Promise<Page> {
  const { query } = store
  const found = runtime === undefined ? undefined : await findGitopsRuntime(query, accountId, runtime)
  if (runtime !== undefined && found === undefined) unknownRuntime(runtime)
  const after = cursor === undefined ? undefined : readCursor(cursor, Cursor)
  const rows = await listReportedClusters(query, { accountId, runtimeId: found?.id, after, limit: limit + 1 })
  const shown = rows.slice(0, limit)
  const last = shown.at(-1)
  const next =
    rows.length > limit && last !== undefined
      ? writeCursor([last.runtime, Number(last.is_other), last.name, last.server])
      : undefined
  return { items: shown.map((row) => ({ ...toStored(row), runtime: row.runtime })), ...defined({ next }) }
}

/** Reads what Argo CDs say about clusters that applications name. Returns a function that finds a cluster by its runtime, and its name or URL. */
export async function openClusterStates(
  { store }: App,
  named: readonly NamedCluster[],
): Promise<(one: NamedCluster) => StoredCluster | undefined> {
  const rows = await findReportedClusters(store.query, named)
  const byName = new Map(rows.map((row) => [`${row.runtime_id} ${row.name}`, row]))
  const byServer = new Map(rows.map((row) => [`${row.runtime_id} ${row.server}`, row]))
  return ({ runtimeId, cluster }) => {
    const row = byServer.get(`${runtimeId} ${cluster}`) ?? byName.get(`${runtimeId} ${cluster}`)
    return row && toStored(row)
  }
}

function toStored({ facts, reported_at: reportedAt }: ReportedClusterRow): StoredCluster {
  return { ...ClusterState.parse(JSON.parse(facts)), reportedAt }
}
