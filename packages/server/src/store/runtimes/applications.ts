/** Applications of GitOps runtimes and the reporters that report them. */
import type { ApplicationHealth, ApplicationSort, ApplicationSync } from '@windlass/protocol'
import { sql } from 'kysely'
import type { ApplicationRow, GitopsReporterRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Rows of one statement. */
const PER_STATEMENT = 100

/** What decides whether a report changes an application. */
const COMPARED = [
  'id',
  'namespace',
  'name',
  'uid',
  'version',
  'health',
  'sync',
  'digest',
  'deployments',
  'state_since',
  'reported_at',
  'created_at',
  'end_cause',
] as const
export type ComparedApplication = Pick<ApplicationRow, (typeof COMPARED)[number]>

/** Locks the runtime, so that reports about it are stored one after the other. Returns false if it does not exist. */
export async function lockReportedRuntime(tx: Tx, id: string): Promise<boolean> {
  const row = await tx.query.selectFrom('gitops_runtime').select('id').where('id', '=', id).$call(tx.forUpdate).executeTakeFirst()
  return row !== undefined
}

/** Finds the applications of a runtime with these names, in any namespace, also those that are gone. */
export async function findCompared(query: Query, runtimeId: string, names: readonly string[]): Promise<ComparedApplication[]> {
  const found: ComparedApplication[] = []
  for (let at = 0; at < names.length; at += PER_STATEMENT)
    found.push(
      ...(await query
        .selectFrom('gitops_application')
        .select(COMPARED)
        .where('runtime_id', '=', runtimeId)
        .where('name', 'in', names.slice(at, at + PER_STATEMENT))
        .execute()),
    )
  return found
}

export async function insertApplications(tx: Tx, rows: readonly ApplicationRow[]): Promise<void> {
  for (let at = 0; at < rows.length; at += PER_STATEMENT)
    await tx.query
      .insertInto('gitops_application')
      .values(rows.slice(at, at + PER_STATEMENT))
      .execute()
}

export async function updateApplication(tx: Tx, id: string, changes: Partial<ApplicationRow>): Promise<void> {
  await tx.query.updateTable('gitops_application').set(changes).where('id', '=', id).execute()
}

/** Notes that a full state has these applications. */
export async function noteListed(tx: Tx, ids: readonly string[], fullState: string): Promise<void> {
  for (let at = 0; at < ids.length; at += PER_STATEMENT)
    await tx.query
      .updateTable('gitops_application')
      .set({ full_state: fullState })
      .where('id', 'in', ids.slice(at, at + PER_STATEMENT))
      .execute()
}

/** Applications that are there: their number, those that are degraded or missing, and when one of them changed its state last (epoch milliseconds). */
export async function sumApplications(
  query: Query,
  accountId: string,
): Promise<{ readonly count: number; readonly unwell: number; readonly changedAt: number }> {
  const row = await query
    .selectFrom('gitops_application')
    .select((of) => [
      of.fn.countAll<number | string>().as('count'),
      of.fn
        .sum<number | string | null>(of.case().when('health', 'in', ['degraded', 'missing']).then(1).else(0).end())
        .as('unwell'),
      of.fn.max('state_since').as('changed_at'),
    ])
    .where('account_id', '=', accountId)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return { count: Number(row?.count ?? 0), unwell: Number(row?.unwell ?? 0), changedAt: Number(row?.changed_at ?? 0) }
}

export interface UnlistedFilter {
  readonly runtimeId: string
  readonly fullState: string
  /** Only what was reported at this time or before. */
  readonly until: number
}

/** Lists the applications of a runtime that a full state did not have. */
export async function listUnlisted(
  query: Query,
  { runtimeId, fullState, until }: UnlistedFilter,
): Promise<Pick<ApplicationRow, 'id' | 'namespace' | 'name'>[]> {
  return query
    .selectFrom('gitops_application')
    .select(['id', 'namespace', 'name'])
    .where('runtime_id', '=', runtimeId)
    .where('ended_at', 'is', null)
    .where('full_state', '!=', fullState)
    .where('reported_at', '<=', until)
    .execute()
}

export async function endApplications(
  tx: Tx,
  ids: readonly string[],
  end: { readonly at: number; readonly cause: NonNullable<ApplicationRow['end_cause']> },
): Promise<void> {
  for (let at = 0; at < ids.length; at += PER_STATEMENT)
    await tx.query
      .updateTable('gitops_application')
      .set({ ended_at: end.at, end_cause: end.cause })
      .where('id', 'in', ids.slice(at, at + PER_STATEMENT))
      .execute()
}

/** Counts the applications of a runtime, also those that are gone and still stored; `neverSeen` are those of which only the deletion was reported. */
export async function countApplications(
  query: Query,
  runtimeId: string,
): Promise<{ readonly all: number; readonly neverSeen: number }> {
  const row = await query
    .selectFrom('gitops_application')
    .select((of) => [
      of.fn.countAll<number | string>().as('all'),
      of.fn.sum<number | string | null>(sql`case when digest = '' then 1 else 0 end`).as('never_seen'),
    ])
    .where('runtime_id', '=', runtimeId)
    .executeTakeFirst()
  return { all: Number(row?.all ?? 0), neverSeen: Number(row?.never_seen ?? 0) }
}

/** An application without its resources. */
const LISTED = [
  'id',
  'runtime_id',
  'namespace',
  'name',
  'project',
  'health',
  'sync',
  'facts',
  'state_since',
  'reported_at',
  'created_at',
] as const
export type ListedApplication = Pick<ApplicationRow, (typeof LISTED)[number]>

/** The column by which a list is sorted, with the id for equal values. */
export const SORT_COLUMNS = {
  name: { column: 'name', direction: 'asc' },
  health: { column: 'health_rank', direction: 'asc' },
  changed: { column: 'state_since', direction: 'desc' },
} as const satisfies Record<ApplicationSort, { column: keyof ApplicationRow; direction: 'asc' | 'desc' }>

export interface ApplicationFilter {
  readonly accountId: string
  readonly runtimeId?: string | undefined
  readonly namespace?: string | undefined
  readonly project?: string | undefined
  readonly health?: ApplicationHealth | undefined
  readonly sync?: ApplicationSync | undefined
  /** A part of the name. */
  readonly part?: string | undefined
  readonly sort: ApplicationSort
  /** Sort value and id of the last application of the previous page. */
  readonly after?: { readonly value: string | number; readonly id: string } | undefined
  readonly limit: number
}

export async function listApplications(
  query: Query,
  filter: ApplicationFilter,
): Promise<(ListedApplication & { readonly health_rank: number })[]> {
  const { runtimeId, namespace, project, health, sync, part, after } = filter
  const { column, direction } = SORT_COLUMNS[filter.sort]
  let select = query
    .selectFrom('gitops_application')
    .select([...LISTED, 'health_rank'])
    .where('account_id', '=', filter.accountId)
    .where('ended_at', 'is', null)
  if (runtimeId !== undefined) select = select.where('runtime_id', '=', runtimeId)
  if (namespace !== undefined) select = select.where('namespace', '=', namespace)
  if (project !== undefined) select = select.where('project', '=', project)
  if (health !== undefined) select = select.where('health', '=', health)
  if (sync !== undefined) select = select.where('sync', '=', sync)
  // The characters % and _ cannot be in a name, so such a part matches nothing.
  if (part !== undefined) select = select.where(sql<boolean>`name like ${`%${part.replaceAll(/[%_\\]/g, '~')}%`}`)
  if (after !== undefined) {
    const than = direction === 'asc' ? ('>' as const) : ('<' as const)
    select = select.where((where) =>
      where.or([where(column, than, after.value), where.and([where(column, '=', after.value), where('id', than, after.id)])]),
    )
  }
  return select.orderBy(column, direction).orderBy('id', direction).limit(filter.limit).execute()
}

const PLACED = [
  'id',
  'runtime_id',
  'namespace',
  'name',
  'product',
  'component',
  'cluster',
  'cluster_namespace',
  'health',
  'health_rank',
  'sync',
  'promoted_version',
] as const
export type PlacedApplication = Pick<ApplicationRow, (typeof PLACED)[number]>

/** Lists what says where applications belong, of all that are not gone. Their number is limited for each runtime. */
export async function listPlaced(query: Query, accountId: string): Promise<PlacedApplication[]> {
  return query
    .selectFrom('gitops_application')
    .select(PLACED)
    .where('account_id', '=', accountId)
    .where('ended_at', 'is', null)
    .orderBy('name')
    .orderBy('id')
    .execute()
}

/** Finds applications that are not gone. */
export async function findListed(query: Query, ids: readonly string[]): Promise<ListedApplication[]> {
  const found: ListedApplication[] = []
  for (let at = 0; at < ids.length; at += PER_STATEMENT)
    found.push(
      ...(await query
        .selectFrom('gitops_application')
        .select(LISTED)
        .where('id', 'in', ids.slice(at, at + PER_STATEMENT))
        .where('ended_at', 'is', null)
        .execute()),
    )
  return found
}

export type ApplicationName =
  | { readonly id: string }
  | { readonly runtimeId: string; readonly namespace: string; readonly name: string }

/** Finds an application that is not gone, with its resources. */
export async function findApplication(
  query: Query,
  accountId: string,
  of: ApplicationName,
): Promise<(ListedApplication & Pick<ApplicationRow, 'resources'>) | undefined> {
  const select = query
    .selectFrom('gitops_application')
    .select([...LISTED, 'resources'])
    .where('account_id', '=', accountId)
    .where('ended_at', 'is', null)
  return 'id' in of
    ? select.where('id', '=', of.id).executeTakeFirst()
    : select
        .where('runtime_id', '=', of.runtimeId)
        .where('name', '=', of.name)
        .where('namespace', '=', of.namespace)
        .executeTakeFirst()
}

/** Clusters to which reported applications of runtimes deploy. */
export interface TargetCluster {
  readonly runtimeId: string
  /** Its name or URL. */
  readonly cluster: string
  readonly applications: number
}

/** Lists the clusters by their names. Default: those of all runtimes. */
export async function listTargetClusters(query: Query, accountId: string, runtimeId?: string): Promise<TargetCluster[]> {
  let select = query
    .selectFrom('gitops_application')
    .select(['runtime_id', 'cluster', (of) => of.fn.countAll<number | string>().as('count')])
    .where('account_id', '=', accountId)
    .where('ended_at', 'is', null)
    .where('cluster', '!=', '')
  if (runtimeId !== undefined) select = select.where('runtime_id', '=', runtimeId)
  const rows = await select.groupBy(['runtime_id', 'cluster']).orderBy('cluster').execute()
  return rows.map((row) => ({ runtimeId: row.runtime_id, cluster: row.cluster, applications: Number(row.count) }))
}

/** Returns the column `deployments` of an application that is not gone. */
export async function findDeployments(query: Query, accountId: string, id: string): Promise<string | undefined> {
  const row = await query
    .selectFrom('gitops_application')
    .select('deployments')
    .where('account_id', '=', accountId)
    .where('id', '=', id)
    .where('ended_at', 'is', null)
    .executeTakeFirst()
  return row?.deployments
}

export async function listReporters(query: Query, runtimeId: string): Promise<GitopsReporterRow[]> {
  return query.selectFrom('gitops_reporter').selectAll().where('runtime_id', '=', runtimeId).orderBy('shard').execute()
}

/** Gives up the full states in progress of reporters that divide the applications into another number of parts. */
export async function resetOtherDivisions(tx: Tx, runtimeId: string, shards: number): Promise<void> {
  await tx.query
    .updateTable('gitops_reporter')
    .set({ full_state: '', full_chunk: 0 })
    .where('runtime_id', '=', runtimeId)
    .where('shards', '!=', shards)
    .execute()
}

export async function saveReporter(tx: Tx, row: GitopsReporterRow): Promise<void> {
  await tx.query
    .insertInto('gitops_reporter')
    .values(row)
    .onConflict((conflict) => conflict.columns(['runtime_id', 'shard']).doUpdateSet(row))
    .execute()
}

/** Notes parts of which nothing was heard yet. */
export async function insertReporters(tx: Tx, rows: readonly GitopsReporterRow[]): Promise<void> {
  if (rows.length > 0) await tx.query.insertInto('gitops_reporter').values(rows).execute()
}

/** Deletes the parts that a runtime no longer has, because its applications are divided into fewer ones. */
export async function deleteLeftReporters(tx: Tx, runtimeId: string, shards: number): Promise<void> {
  await tx.query.deleteFrom('gitops_reporter').where('runtime_id', '=', runtimeId).where('shard', '>=', shards).execute()
}

export interface ReportTimes {
  /** When the part of the reporter that is silent for longest was last heard. */
  readonly seenAt: number
  /** When all parts had sent a full state; 0 if one of them never did. */
  readonly fullAt: number
}

/** Returns when the runtimes that have reported did so, by their ids. */
export async function listReportTimes(query: Query, accountId: string): Promise<Map<string, ReportTimes>> {
  const rows = await query
    .selectFrom('gitops_reporter')
    .select([
      'runtime_id',
      (of) => of.fn.min<number | string>('seen_at').as('seen_at'),
      (of) => of.fn.min<number | string>(of.fn.coalesce('full_at', of.val(0))).as('full_at'),
    ])
    .where('account_id', '=', accountId)
    .groupBy('runtime_id')
    .execute()
  return new Map(rows.map((row) => [row.runtime_id, { seenAt: Number(row.seen_at), fullAt: Number(row.full_at) }]))
}

/** Deletes what is stored of applications that are gone since before this time. Returns their number, at most `limit`. */
export async function deleteEndedApplications(
  tx: Tx,
  { before, limit }: { readonly before: number; readonly limit: number },
): Promise<number> {
  const old = await tx.query.selectFrom('gitops_application').select('id').where('ended_at', '<', before).limit(limit).execute()
  for (let at = 0; at < old.length; at += PER_STATEMENT) {
    const ids = old.slice(at, at + PER_STATEMENT).map(({ id }) => id)
    await tx.query.deleteFrom('gitops_application').where('id', 'in', ids).execute()
  }
  return old.length
}
