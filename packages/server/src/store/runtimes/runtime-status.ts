/** What GitOps runtimes have said about themselves and their clusters. */
import type { GitopsReporterRow, ReportedClusterRow, RuntimeStatusRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

const PER_STATEMENT = 100

export async function saveRuntimeStatus(tx: Tx, row: RuntimeStatusRow): Promise<void> {
  const { runtime_id: _id, ...fields } = row
  await tx.query
    .insertInto('gitops_runtime_status')
    .values(row)
    .onConflict((conflict) => conflict.column('runtime_id').doUpdateSet(fields))
    .execute()
}

/** Returns what the runtimes of an account have said, by their ids. */
export async function listRuntimeStatuses(query: Query, accountId: string): Promise<ReadonlyMap<string, RuntimeStatusRow>> {
  const rows = await query.selectFrom('gitops_runtime_status').selectAll().where('account_id', '=', accountId).execute()
  return new Map(rows.map((row) => [row.runtime_id, row]))
}

/** Returns the reporters of an account by runtime, in the order of their parts. */
export async function listReportersByRuntime(
  query: Query,
  accountId: string,
): Promise<ReadonlyMap<string, readonly GitopsReporterRow[]>> {
  const rows = await query
    .selectFrom('gitops_reporter')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('shard')
    .execute()
  return Map.groupBy(rows, (row) => row.runtime_id)
}

/** Returns the URLs of the API servers that are stored of a runtime. */
export async function listClusterServers(query: Query, runtimeId: string): Promise<ReadonlySet<string>> {
  const rows = await query.selectFrom('gitops_cluster').select('server').where('runtime_id', '=', runtimeId).execute()
  return new Set(rows.map(({ server }) => server))
}

export async function saveReportedClusters(tx: Tx, rows: readonly ReportedClusterRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += PER_STATEMENT)
    await tx.query
      .insertInto('gitops_cluster')
      .values(rows.slice(at, at + PER_STATEMENT))
      .onConflict((conflict) =>
        conflict.columns(['runtime_id', 'server']).doUpdateSet((given) => ({
          name: given.ref('excluded.name'),
          connection: given.ref('excluded.connection'),
          facts: given.ref('excluded.facts'),
          report: given.ref('excluded.report'),
          reported_at: given.ref('excluded.reported_at'),
        })),
      )
      .execute()
}

/** Deletes the clusters of a runtime that a report does not have, and no other one since `before`. */
export async function deleteLeftClusters(
  tx: Tx,
  { runtimeId, report, before }: { readonly runtimeId: string; readonly report: string; readonly before: number },
): Promise<void> {
  await tx.query
    .deleteFrom('gitops_cluster')
    .where('runtime_id', '=', runtimeId)
    .where('report', '!=', report)
    .where('reported_at', '<', before)
    .execute()
}

/** Lists the clusters of an account by name, or those of one runtime. */
export async function listReportedClusters(query: Query, accountId: string, runtimeId?: string): Promise<ReportedClusterRow[]> {
  let select = query.selectFrom('gitops_cluster').selectAll().where('account_id', '=', accountId)
  if (runtimeId !== undefined) select = select.where('runtime_id', '=', runtimeId)
  return select.orderBy('name').orderBy('server').execute()
}

/** Returns by runtime how many clusters it has, and how many of them Argo CD cannot reach. */
export async function countReportedClusters(
  query: Query,
  accountId: string,
): Promise<ReadonlyMap<string, { readonly count: number; readonly failed: number }>> {
  const rows = await query
    .selectFrom('gitops_cluster')
    .select(['runtime_id', 'connection', (of) => of.fn.countAll<number | string>().as('count')])
    .where('account_id', '=', accountId)
    .groupBy(['runtime_id', 'connection'])
    .execute()
  const sums = new Map<string, { count: number; failed: number }>()
  for (const { runtime_id: id, connection, count } of rows) {
    const sum = sums.get(id) ?? { count: 0, failed: 0 }
    sum.count += Number(count)
    if (connection === 'failed') sum.failed += Number(count)
    sums.set(id, sum)
  }
  return sums
}
