/** What GitOps runtimes have said about themselves and their clusters. */
import { sql } from 'kysely'
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

/** Where Argo CD has the cluster of its own. */
const OWN_SERVER = 'https://kubernetes.default.svc'

/** A cluster with the name of its runtime, and 0 if it is the cluster of the runtime itself. */
export type ListedCluster = ReportedClusterRow & { readonly runtime: string; readonly is_other: number | string }

export interface ClusterFilter {
  readonly accountId: string
  readonly runtimeId?: string | undefined
  /** Runtime, `is_other`, name and server of the last cluster of the previous page. */
  readonly after?: readonly [runtime: string, isOther: number, name: string, server: string] | undefined
  readonly limit: number
}

/** Lists clusters by runtime and name, that of the runtime itself first. */
export async function listReportedClusters(
  query: Query,
  { accountId, runtimeId, after, limit }: ClusterFilter,
): Promise<ListedCluster[]> {
  const isOther = sql<number | string>`case when gitops_cluster.server = ${sql.lit(OWN_SERVER)} then 0 else 1 end`
  let select = query
    .selectFrom('gitops_cluster')
    .innerJoin('gitops_runtime', 'gitops_runtime.id', 'gitops_cluster.runtime_id')
    .selectAll('gitops_cluster')
    .select(['gitops_runtime.name as runtime', isOther.as('is_other')])
    .where('gitops_cluster.account_id', '=', accountId)
  if (runtimeId !== undefined) select = select.where('gitops_cluster.runtime_id', '=', runtimeId)
  if (after !== undefined) {
    const place = sql`(gitops_runtime.name, ${isOther}, gitops_cluster.name, gitops_cluster.server)`
    select = select.where(sql<boolean>`${place} > (${sql.join(after)})`)
  }
  return select
    .orderBy('gitops_runtime.name')
    .orderBy(isOther)
    .orderBy('gitops_cluster.name')
    .orderBy('gitops_cluster.server')
    .limit(limit)
    .execute()
}

/** A cluster that an application names: by its name, or by the URL of its API server. */
export interface NamedCluster {
  readonly runtimeId: string
  readonly cluster: string
}

/** Finds what is known of clusters of runtimes. */
export async function findReportedClusters(query: Query, named: readonly NamedCluster[]): Promise<ReportedClusterRow[]> {
  const found: ReportedClusterRow[] = []
  for (let at = 0; at < named.length; at += PER_STATEMENT) {
    const byRuntime = Map.groupBy(named.slice(at, at + PER_STATEMENT), ({ runtimeId }) => runtimeId)
    const select = query.selectFrom('gitops_cluster').selectAll()
    const some = select.where((where) =>
      where.or(
        Array.from(byRuntime, ([runtimeId, of]) => {
          const texts = of.map(({ cluster }) => cluster)
          return where.and([
            where('runtime_id', '=', runtimeId),
            where.or([where('server', 'in', texts), where('name', 'in', texts)]),
          ])
        }),
      ),
    )
    found.push(...(await some.execute()))
  }
  return found
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
