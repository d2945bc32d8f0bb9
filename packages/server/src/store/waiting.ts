/** Builds that wait for an attempt, as the election reads them. */
import type { Reason } from '@windlass/plan'
import { LIMITS } from './pipelines.ts'
import type { BuildRow } from './schema.ts'
import type { Query, Tx } from './store.ts'

export interface WaitingFilter {
  readonly accountId: string
  /** Only builds of these runtimes, and those that take the default one when `takesDefault`. */
  readonly runtimes: readonly string[]
  readonly takesDefault: boolean
  /** Of the pipelines that limit their builds only these, whose rows are locked. Builds of all others go freely. */
  readonly openPipelines: readonly string[]
  /** Only builds behind this one in the queue. */
  readonly after: { readonly priority: number; readonly number: number } | undefined
  readonly limit: number
}

/** By priority, then by age; locked, leaving out those that another server is electing. */
export async function listWaiting(tx: Tx, filter: WaitingFilter): Promise<BuildRow[]> {
  const { after, runtimes, openPipelines } = filter
  let select = tx.query
    .selectFrom('build')
    .selectAll()
    .where('status', '=', 'pending')
    .where('held', '=', 0)
    .where('account_id', '=', filter.accountId)
    .where((where) => {
      const named = where('runtime', 'in', runtimes)
      return filter.takesDefault ? where.or([named, where('runtime', 'is', null)]) : named
    })
    .where((where) =>
      where.or([
        where('pipeline_id', 'is', null),
        ...(openPipelines.length === 0 ? [] : [where('pipeline_id', 'in', openPipelines)]),
        where.not(
          where.exists(
            where
              .selectFrom('pipeline')
              .select('pipeline.id')
              .whereRef('pipeline.id', '=', 'build.pipeline_id')
              .where((limit) => limit.or(LIMITS.map((column) => limit(column, 'is not', null)))),
          ),
        ),
      ]),
    )
  if (after !== undefined) {
    select = select.where((where) =>
      where.or([
        where('priority', '<', after.priority),
        where.and([where('priority', '=', after.priority), where('number', '>', after.number)]),
      ]),
    )
  }
  return select.orderBy('priority', 'desc').orderBy('number').limit(filter.limit).$call(tx.skipLocked).execute()
}

export interface WaitingGroup {
  readonly runtime: string | null
  readonly pipeline_id: string | null
  readonly branch: string | null
  readonly trigger_name: string | null
  readonly reason: Reason | null
}

/** What waiting builds have in common that decides why they wait, with the reason they were given last. */
export async function listWaitingGroups(query: Query, accountId: string): Promise<WaitingGroup[]> {
  return query
    .selectFrom('build')
    .select(['runtime', 'pipeline_id', 'branch', 'trigger_name', 'reason'])
    .where('status', '=', 'pending')
    .where('held', '=', 0)
    .where('account_id', '=', accountId)
    .groupBy(['runtime', 'pipeline_id', 'branch', 'trigger_name', 'reason'])
    .execute()
}

/** The waiting builds of a group, locked. */
export async function listGroup(tx: Tx, accountId: string, group: WaitingGroup, limit: number): Promise<BuildRow[]> {
  let select = tx.query
    .selectFrom('build')
    .selectAll()
    .where('status', '=', 'pending')
    .where('held', '=', 0)
    .where('account_id', '=', accountId)
  for (const column of ['runtime', 'pipeline_id', 'branch', 'trigger_name', 'reason'] as const) {
    const value = group[column]
    select = value === null ? select.where(column, 'is', null) : select.where(column, '=', value)
  }
  return select.limit(limit).$call(tx.skipLocked).execute()
}

/** True when any build waits. */
export async function hasWaiting(query: Query, accountId: string): Promise<boolean> {
  const row = await query
    .selectFrom('build')
    .select('id')
    .where('status', '=', 'pending')
    .where('held', '=', 0)
    .where('account_id', '=', accountId)
    .limit(1)
    .executeTakeFirst()
  return row !== undefined
}

/** Builds that have waited for an attempt since before a time. */
export async function listOverdueBuilds(query: Query, filter: { accountId: string; queuedBefore: number }): Promise<string[]> {
  const rows = await query
    .selectFrom('build')
    .select('id')
    .where('status', 'in', ['pending', 'delayed'])
    .where('account_id', '=', filter.accountId)
    .where('queued_at', '<', filter.queuedBefore)
    .limit(100)
    .execute()
  return rows.map(({ id }) => id)
}

/** The oldest of those that wait for their first attempt beyond the given number of builds. */
export async function listExcessBuilds(query: Query, filter: { accountId: string; keep: number }): Promise<string[]> {
  const { count } = await query
    .selectFrom('build')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('status', 'in', ['pending', 'delayed'])
    .where('attempt', '=', 0)
    .where('account_id', '=', filter.accountId)
    .executeTakeFirstOrThrow()
  if (count <= filter.keep) return []
  const rows = await query
    .selectFrom('build')
    .select('id')
    .where('status', 'in', ['pending', 'delayed'])
    .where('attempt', '=', 0)
    .where('account_id', '=', filter.accountId)
    .orderBy('number')
    .limit(Math.min(100, count - filter.keep))
    .execute()
  return rows.map(({ id }) => id)
}

/** How many builds wait for each runtime. */
export async function countWaitingByRuntime(query: Query, accountId: string): Promise<Map<string, number>> {
  const rows = await query
    .selectFrom('build')
    .select((of) => ['runtime', of.fn.countAll<number>().as('count')])
    .where('status', 'in', ['pending', 'delayed'])
    .where('account_id', '=', accountId)
    .groupBy('runtime')
    .execute()
  return new Map(rows.map(({ runtime, count }) => [runtime ?? '', count]))
}
