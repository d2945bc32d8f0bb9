/** Reads over all builds of the account for the event streams of pages. */
import type { BuildStatus } from '@windlass/plan'
import { LIVE_BUILD_STATUSES } from '../builds.ts'
import type { BuildRow } from '../../schema/schema.ts'
import type { Query } from '../../store.ts'

/** Returns the builds with these ids. */
export async function findBuilds(query: Query, accountId: string, ids: readonly string[]): Promise<BuildRow[]> {
  if (ids.length === 0) return []
  return query
    .selectFrom('build')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('id', 'in', [...ids])
    .execute()
}

/** Returns the builds with the largest numbers. */
export async function listNewestBuilds(query: Query, accountId: string, limit: number): Promise<BuildRow[]> {
  return query
    .selectFrom('build')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('number', 'desc')
    .limit(limit)
    .execute()
}

export interface StatusCount {
  readonly project_id: string | null
  readonly pipeline_id: string | null
  readonly status: BuildStatus
  readonly count: number
}

/** Counts the builds that have not ended. */
export async function countLiveBuilds(query: Query, accountId: string): Promise<StatusCount[]> {
  return query
    .selectFrom('build')
    .select(['project_id', 'pipeline_id', 'status'])
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .where('status', 'in', LIVE_BUILD_STATUSES)
    .groupBy(['project_id', 'pipeline_id', 'status'])
    .orderBy('project_id')
    .orderBy('pipeline_id')
    .orderBy('status')
    .execute()
}

export interface ApprovalCount {
  readonly project_id: string | null
  readonly pipeline_id: string | null
  readonly count: number
}

/** Counts the open approvals. */
export async function countOpenApprovals(query: Query, accountId: string): Promise<ApprovalCount[]> {
  return query
    .selectFrom('approval')
    .innerJoin('build', 'build.id', 'approval.build_id')
    .select(['build.project_id', 'build.pipeline_id'])
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('approval.account_id', '=', accountId)
    .where('approval.decision', 'is', null)
    .where('build.status', 'in', LIVE_BUILD_STATUSES)
    .groupBy(['build.project_id', 'build.pipeline_id'])
    .orderBy('build.project_id')
    .orderBy('build.pipeline_id')
    .execute()
}
