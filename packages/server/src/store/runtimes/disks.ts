/** Disks of builds, as agents report them. */
import { sql } from 'kysely'
import type { DiskState } from '@windlass/protocol'
import type { DiskRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Locks and returns the disks of an agent, also those that are gone, and disks of other agents with one of these uids. */
export async function lockDisks(
  tx: Tx,
  { accountId, agentId, uids }: { readonly accountId: string; readonly agentId: string; readonly uids: readonly string[] },
): Promise<DiskRow[]> {
  const own = await tx.query.selectFrom('disk').selectAll().where('agent_id', '=', agentId).$call(tx.forUpdate).execute()
  const known = new Set(own.map(({ uid }) => uid))
  const others = uids.filter((uid) => !known.has(uid))
  const found: DiskRow[] = []
  // Databases limit the number of parameters.
  for (let start = 0; start < others.length; start += 500)
    found.push(
      ...(await tx.query
        .selectFrom('disk')
        .selectAll()
        .where('account_id', '=', accountId)
        .where('uid', 'in', others.slice(start, start + 500))
        .$call(tx.forUpdate)
        .execute()),
    )
  return [...own, ...found]
}

export async function insertDisks(tx: Tx, rows: readonly DiskRow[]): Promise<void> {
  for (let start = 0; start < rows.length; start += 100)
    await tx.query
      .insertInto('disk')
      .values(rows.slice(start, start + 100))
      .execute()
}

export async function updateDisk(tx: Tx, id: string, changes: Partial<DiskRow>): Promise<void> {
  await tx.query.updateTable('disk').set(changes).where('id', '=', id).execute()
}

export async function deleteDisks(tx: Tx, ids: readonly string[]): Promise<void> {
  for (let start = 0; start < ids.length; start += 500)
    await tx.query
      .deleteFrom('disk')
      .where('id', 'in', ids.slice(start, start + 500))
      .execute()
}

/** Finds the disk with an id, or at most two that exist with a name. Agents choose names, so that a name can look like the id of another disk. */
export async function findDisks(query: Query, accountId: string, name: string): Promise<DiskRow[]> {
  const ofAccount = query.selectFrom('disk').selectAll().where('account_id', '=', accountId)
  const byId = await ofAccount.where('id', '=', name).execute()
  return byId.length > 0 ? byId : ofAccount.where('name', '=', name).where('removed_at', 'is', null).limit(2).execute()
}

export async function lockDisk(tx: Tx, id: string): Promise<DiskRow | undefined> {
  return tx.query.selectFrom('disk').selectAll().where('id', '=', id).$call(tx.forUpdate).executeTakeFirst()
}

export interface DiskFilter {
  readonly accountId: string
  /** Names or label values of a runtime. */
  readonly runtimes?: readonly string[] | undefined
  readonly pipelineId?: string | undefined
  readonly state?: DiskState | undefined
  /** Id of the last disk of the previous page. */
  readonly after?: string | undefined
  readonly limit: number
}

export interface NamedDisk extends DiskRow {
  readonly agent: string
  readonly last_seen_at: number | null
  readonly disks_at: number | null
}

/** Lists disks that exist, newest first. */
export async function listDisks(query: Query, filter: DiskFilter): Promise<NamedDisk[]> {
  let select = query
    .selectFrom('disk')
    .innerJoin('agent', 'agent.id', 'disk.agent_id')
    .selectAll('disk')
    .select(['agent.name as agent', 'agent.last_seen_at', 'agent.disks_at'])
    .where('disk.account_id', '=', filter.accountId)
    .where('disk.removed_at', 'is', null)
  if (filter.runtimes !== undefined) select = select.where('disk.runtime', 'in', [...filter.runtimes])
  if (filter.pipelineId !== undefined) select = select.where('disk.pipeline_id', '=', filter.pipelineId)
  if (filter.state !== undefined) select = select.where('disk.state', '=', filter.state)
  if (filter.after !== undefined) select = select.where('disk.id', '<', filter.after)
  return select.orderBy('disk.id', 'desc').limit(filter.limit).execute()
}

/** A build by its id, or by the id of the warm pair that became its attempt. */
export interface DiskBuild {
  readonly of: string
  readonly id: string
  readonly number: number
  readonly pipeline: string | null
}

/** Finds the builds of ids that are those of builds or of warm pairs. */
export async function findDiskBuilds(query: Query, ids: readonly string[]): Promise<DiskBuild[]> {
  if (ids.length === 0) return []
  const builds = await query
    .selectFrom('build')
    .select(['id as of', 'id', 'number', 'pipeline'])
    .where('id', 'in', [...ids])
    .execute()
  const pairs = await query
    .selectFrom('warm_pair')
    .innerJoin('build', 'build.id', 'warm_pair.build_id')
    .select(['warm_pair.id as of', 'build.id', 'build.number', 'build.pipeline'])
    .where('warm_pair.id', 'in', [...ids])
    .execute()
  return [...builds, ...pairs]
}

/** Finds the names of pipelines or projects. */
export async function findNames(
  query: Query,
  table: 'pipeline' | 'project',
  ids: readonly string[],
): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await query
    .selectFrom(table)
    .select(['id', 'name'])
    .where('id', 'in', [...ids])
    .execute()
  return new Map(rows.map(({ id, name }) => [id, name]))
}

/** Deletes the disks, jobs and checks of an agent. */
export async function deleteReportsOf(tx: Tx, agentId: string): Promise<void> {
  await tx.query.deleteFrom('disk').where('agent_id', '=', agentId).execute()
  await tx.query.deleteFrom('agent_job').where('agent_id', '=', agentId).execute()
  await tx.query.deleteFrom('agent_check').where('agent_id', '=', agentId).execute()
}

/** Deletes what is known of disks that were removed before a time. */
export async function deleteRemovedDisks(tx: Tx, before: number): Promise<void> {
  await tx.query.deleteFrom('disk').where('removed_at', '<', before).execute()
}

/** Deletes disks, jobs and checks of agents that no longer exist: a server of an earlier version deletes an agent without them. */
export async function deleteLeftDisks(tx: Tx): Promise<void> {
  for (const table of ['disk', 'agent_job', 'agent_check'] as const)
    await tx.query
      .deleteFrom(table)
      .where('agent_id', 'not in', (of) => of.selectFrom('agent').select('id'))
      .execute()
}

/** Counts disks by state, of all runtimes or of one. */
export async function countDisks(
  query: Query,
  { accountId, runtimes }: Pick<DiskFilter, 'accountId' | 'runtimes'>,
): Promise<ReadonlyMap<DiskState, number>> {
  let select = query
    .selectFrom('disk')
    .select(['state', sql<number>`count(*)`.as('count')])
    .where('account_id', '=', accountId)
    .where('removed_at', 'is', null)
  if (runtimes !== undefined) select = select.where('runtime', 'in', [...runtimes])
  const counted = await select.groupBy('state').execute()
  return new Map(counted.map(({ state, count }) => [state, Number(count)]))
}
