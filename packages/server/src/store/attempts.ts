import type { AttemptStatus } from '@windlass/plan'
import type { AttemptRow, BuildRow } from './schema.ts'
import type { Query, Tx } from './store.ts'

/** Something of these may still run: they count against every limit. */
export const LIVE_ATTEMPT_STATUSES: readonly AttemptStatus[] = ['created', 'started', 'suspect', 'lost']

export async function insertAttempt(tx: Tx, attempt: AttemptRow): Promise<void> {
  await tx.query.insertInto('attempt').values(attempt).execute()
}

/** The build's row must be locked: it guards its attempts, too. */
export async function findAttempt(query: Query, buildId: string, number: number): Promise<AttemptRow | undefined> {
  return query.selectFrom('attempt').selectAll().where('build_id', '=', buildId).where('number', '=', number).executeTakeFirst()
}

export async function updateAttempt(
  tx: Tx,
  attempt: { build_id: string; number: number },
  changes: Partial<AttemptRow>,
): Promise<void> {
  await tx.query
    .updateTable('attempt')
    .set(changes)
    .where('build_id', '=', attempt.build_id)
    .where('number', '=', attempt.number)
    .execute()
}

export async function listAttempts(query: Query, buildId: string): Promise<AttemptRow[]> {
  return query.selectFrom('attempt').selectAll().where('build_id', '=', buildId).orderBy('number').execute()
}

/** The attempt that a credential belongs to, by the id in front of the secret. */
export async function findAttemptByToken(
  query: Query,
  column: 'bootstrap_id' | 'token_id',
  id: string,
): Promise<AttemptRow | undefined> {
  return query.selectFrom('attempt').selectAll().where(column, '=', id).executeTakeFirst()
}

/** An attempt with what of its build decides about it. */
export interface LiveAttempt extends AttemptRow {
  readonly build_status: BuildRow['status']
  readonly build_started_at: number | null
  readonly build_paused_ms: number
  readonly terminating_at: number | null
}

/** Every attempt of which something may still run. */
export async function listLiveAttempts(query: Query): Promise<LiveAttempt[]> {
  return query
    .selectFrom('attempt')
    .innerJoin('build', 'build.id', 'attempt.build_id')
    .selectAll('attempt')
    .select([
      'build.status as build_status',
      'build.started_at as build_started_at',
      'build.paused_ms as build_paused_ms',
      'build.terminating_at as terminating_at',
    ])
    .where('attempt.status', 'in', LIVE_ATTEMPT_STATUSES)
    .execute()
}

export interface Occupancy {
  readonly account_id: string
  readonly runtime: string
  readonly pipeline_id: string | null
  readonly branch: string | null
  readonly trigger_name: string | null
  readonly count: number
}

/** How many attempts are live, by all that is limited. */
export async function countLiveAttempts(query: Query): Promise<Occupancy[]> {
  return query
    .selectFrom('attempt')
    .innerJoin('build', 'build.id', 'attempt.build_id')
    .select(['attempt.account_id', 'attempt.runtime', 'build.pipeline_id', 'build.branch', 'build.trigger_name'])
    .select((expression) => expression.fn.countAll<number>().as('count'))
    .where('attempt.status', 'in', LIVE_ATTEMPT_STATUSES)
    .groupBy(['attempt.account_id', 'attempt.runtime', 'build.pipeline_id', 'build.branch', 'build.trigger_name'])
    .execute()
}

/** How many builds wait for approval and count all the same. */
export async function countWaitingForApproval(query: Query): Promise<Omit<Occupancy, 'runtime'>[]> {
  return query
    .selectFrom('build')
    .select(['account_id', 'pipeline_id', 'branch', 'trigger_name'])
    .select((expression) => expression.fn.countAll<number>().as('count'))
    .where('status', '=', 'pending-approval')
    .where('approval_counts', '=', 1)
    .groupBy(['account_id', 'pipeline_id', 'branch', 'trigger_name'])
    .execute()
}
