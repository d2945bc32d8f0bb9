/** Counts of builds and attempts that have not ended, for metrics. */
import { sql } from 'kysely'
import type { BuildStatus, Reason } from '@windlass/plan'
import type { Query } from '../store.ts'
import { LIVE_ATTEMPT_STATUSES } from './attempts.ts'
import { LIVE_BUILD_STATUSES } from './builds.ts'

export interface WaitCount {
  readonly status: BuildStatus
  readonly reason: Reason | null
  readonly count: number
}

const WORKING = LIVE_BUILD_STATUSES.filter((status) => status !== 'pending')

/** Counts the builds that wait or work, by status and reason. Queued builds are counted in an index. */
export async function countByReason(query: Query, accountId: string): Promise<WaitCount[]> {
  const base = query
    .selectFrom('build')
    .select((of) => ['status', 'reason', of.fn.countAll<number>().as('count')])
    .where('account_id', '=', accountId)
    .groupBy(['status', 'reason'])
  const queued = await base
    .where('status', '=', sql.lit('pending' as const))
    .where('held', '=', sql.lit(0 as const))
    .execute()
  const held = await base.where('status', '=', 'pending').where('held', '=', 1).execute()
  const others = await base.where('status', 'in', WORKING).execute()
  return [...queued, ...held, ...others]
}

/** Counts the live attempts of each runtime environment. Without the account, so that the index of the status is used. */
export async function countLiveByRuntime(query: Query): Promise<{ runtime: string; count: number }[]> {
  return query
    .selectFrom('attempt')
    .select((of) => ['runtime', of.fn.countAll<number>().as('count')])
    .where(
      'status',
      'in',
      LIVE_ATTEMPT_STATUSES.filter((status) => status !== 'lost'),
    )
    .groupBy('runtime')
    .execute()
}
