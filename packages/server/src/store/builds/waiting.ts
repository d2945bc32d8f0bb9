/**
 * Reads builds that wait for an attempt, for the election. The conditions on `status` are literals, because SQLite uses a partial index
 * only if the query matches its condition without parameters.
 */
import type { BuildStatus, Reason } from '@windlass/plan'
import { sql } from 'kysely'
import type { BuildRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

const PENDING = sql.lit('pending' as const)
const QUEUED = sql<BuildStatus>`('pending', 'delayed')`

/** The columns that determine what a build waits for. */
const GROUP = ['runtime', 'pipeline_id', 'branch', 'trigger_name', 'priority', 'reason'] as const

/** Builds that wait for the same limits with the same priority, and that have the same waiting reason. They differ only in age. */
export interface WaitingGroup {
  readonly runtime: string | null
  readonly pipeline_id: string | null
  readonly branch: string | null
  readonly trigger_name: string | null
  readonly priority: number
  readonly reason: Reason | null
  /** Number of the oldest build of the group. */
  readonly number: number
}

/** Lists the groups of all waiting builds. Reads only an index, not the builds. */
export async function listWaitingGroups(query: Query, accountId: string): Promise<WaitingGroup[]> {
  return selectWaiting(query, accountId)
    .select(GROUP)
    .select((of) => of.fn.min('number').as('number'))
    .groupBy(GROUP)
    .execute()
}

export interface GroupPage {
  readonly accountId: string
  readonly group: WaitingGroup
  /** Skips builds with a smaller number. */
  readonly from: number
  readonly limit: number
}

/** Lists and locks builds of a group, oldest first; skips those that another transaction has locked. */
export async function lockGroup(tx: Tx, { accountId, group, from, limit }: GroupPage): Promise<BuildRow[]> {
  let select = selectWaiting(tx.query, accountId).selectAll()
  for (const column of GROUP) {
    const value = group[column]
    select = value === null ? select.where(column, 'is', null) : select.where(column, '=', value)
  }
  return select.where('number', '>=', from).orderBy('number').limit(limit).$call(tx.skipLocked).execute()
}

/** Returns true if any build waits. */
export async function hasWaiting(query: Query, accountId: string): Promise<boolean> {
  return (await selectWaiting(query, accountId).select('id').limit(1).executeTakeFirst()) !== undefined
}

/** Selects builds that can get an attempt. */
export function selectWaiting(query: Query, accountId: string) {
  return query
    .selectFrom('build')
    .where('status', '=', PENDING)
    .where('held', '=', sql.lit(0 as const))
    .where('account_id', '=', accountId)
}

/** Selects builds that wait for an attempt, or for the time at which they may start. */
export function selectQueued(query: Query, accountId: string) {
  return query.selectFrom('build').where('status', 'in', QUEUED).where('account_id', '=', accountId)
}

/** Returns builds that have waited for an attempt since before a time, longest first. */
export async function listOverdueBuilds(query: Query, filter: { accountId: string; queuedBefore: number }): Promise<string[]> {
  const rows = await selectQueued(query, filter.accountId)
    .select('id')
    .where('queued_at', '<', filter.queuedBefore)
    .orderBy('queued_at')
    .limit(100)
    .execute()
  return rows.map(({ id }) => id)
}

/** Returns the oldest builds that wait for their first attempt, if there are more than `keep`. */
export async function listExcessBuilds(query: Query, filter: { accountId: string; keep: number }): Promise<string[]> {
  const first = selectQueued(query, filter.accountId).where('attempt', '=', sql.lit(0))
  const { count } = await first.select((of) => of.fn.countAll<number>().as('count')).executeTakeFirstOrThrow()
  if (count <= filter.keep) return []
  const rows = await first
    .select('id')
    .orderBy('number')
    .limit(Math.min(100, count - filter.keep))
    .execute()
  return rows.map(({ id }) => id)
}

/** Counts the waiting builds of each runtime. */
export async function countWaitingByRuntime(query: Query, accountId: string): Promise<Map<string, number>> {
  const rows = await selectQueued(query, accountId)
    .select((of) => ['runtime', of.fn.countAll<number>().as('count')])
    .groupBy('runtime')
    .execute()
  return new Map(rows.map(({ runtime, count }) => [runtime ?? '', count]))
}

/** Returns since when the longest waiting build of each runtime waits because the runtime is full. */
export async function listFullSince(query: Query, accountId: string): Promise<Map<string, number>> {
  const rows = await selectQueued(query, accountId)
    .select((of) => ['runtime', of.fn.min('queued_at').as('since')])
    .where('reason', '=', 'runtime-capacity')
    .groupBy('runtime')
    .execute()
  return new Map(rows.map(({ runtime, since }) => [runtime ?? '', Number(since)]))
}

/** Replaces what builds say that wait for a reason. */
export async function changeWaitingMessage(
  tx: Tx,
  accountId: string,
  { reason, message }: { readonly reason: Reason; readonly message: string },
): Promise<void> {
  await tx.query
    .updateTable('build')
    .set({ message })
    .where('status', 'in', QUEUED)
    .where('account_id', '=', accountId)
    .where('reason', '=', reason)
    .execute()
}
