import type { AttemptStatus } from '@windlass/plan'
import { sql } from 'kysely'
import type { AttemptRow, BuildRow } from '../schema/schema.ts'
import { preparedOne, preparedWrite } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'

/** Attempts that may still run; they count against every limit. */
export const LIVE_ATTEMPT_STATUSES: readonly AttemptStatus[] = ['created', 'started', 'suspect', 'lost']

/** Returns false for an attempt that has ended or was given up. */
export function isLiveAttempt(status: AttemptStatus): boolean {
  return status !== 'lost' && status !== 'ended'
}

const insert = preparedWrite((tx, attempt: AttemptRow) => tx.query.insertInto('attempt').values(attempt))

export async function insertAttempt(tx: Tx, attempt: AttemptRow): Promise<void> {
  await insert(tx, attempt)
}

const findByNumber = preparedOne((query: Query, buildId: string, number: number) =>
  query.selectFrom('attempt').selectAll().where('build_id', '=', buildId).where('number', '=', number),
)

/** Finds an attempt. The build row must be locked to change it: it guards its attempts too. */
export async function findAttempt(query: Query, buildId: string, number: number): Promise<AttemptRow | undefined> {
  return findByNumber(query, buildId, number)
}

const findStatus = preparedOne((query: Query, buildId: string, number: number) =>
  query.selectFrom('attempt').select(['status', 'docker_host']).where('build_id', '=', buildId).where('number', '=', number),
)

/** Finds what an engine that waits needs of its attempt. */
export async function findAttemptStatus(
  query: Query,
  { buildId, attempt }: AttemptKey,
): Promise<Pick<AttemptRow, 'status' | 'docker_host'> | undefined> {
  return findStatus(query, buildId, attempt)
}

const update = preparedWrite((tx, changes: Partial<AttemptRow>, buildId: string, number: number) =>
  tx.query.updateTable('attempt').set(changes).where('build_id', '=', buildId).where('number', '=', number),
)

export async function updateAttempt(
  tx: Tx,
  attempt: { build_id: string; number: number },
  changes: Partial<AttemptRow>,
): Promise<void> {
  await update(tx, changes, attempt.build_id, attempt.number)
}

export async function listAttempts(query: Query, buildId: string): Promise<AttemptRow[]> {
  return query.selectFrom('attempt').selectAll().where('build_id', '=', buildId).orderBy('number').execute()
}

const CREDENTIAL = ['account_id', 'build_id', 'number', 'status', 'bootstrap_hash', 'token_hash'] as const

/** What a credential of an attempt is checked against. */
type AttemptCredential = Pick<AttemptRow, (typeof CREDENTIAL)[number]>

const BY_TOKEN = {
  bootstrap_id: preparedOne((query: Query, id: string) =>
    query.selectFrom('attempt').select(CREDENTIAL).where('bootstrap_id', '=', id),
  ),
  token_id: preparedOne((query: Query, id: string) => query.selectFrom('attempt').select(CREDENTIAL).where('token_id', '=', id)),
}

/** Finds the attempt of a credential by the id before the secret. */
export async function findAttemptByToken(
  query: Query,
  column: 'bootstrap_id' | 'token_id',
  id: string,
): Promise<AttemptCredential | undefined> {
  return BY_TOKEN[column](query, id)
}

/** Lists attempts of an agent whose engine runs but has not called. */
export async function listSilentAttempts(query: Query, agentId: string): Promise<AttemptRow[]> {
  return query
    .selectFrom('attempt')
    .selectAll()
    .where('agent_id', '=', agentId)
    .where('status', '=', 'created')
    .where('waiting_reason', '=', 'engine-silent')
    .limit(100)
    .execute()
}

/** An attempt with the fields of its build and agent that timeouts depend on. */
export interface LiveAttempt extends AttemptRow {
  readonly build_status: BuildRow['status']
  readonly build_started_at: number | null
  readonly build_paused_ms: number
  readonly terminating_at: number | null
  /** `last_seen_at` and `heard_since` of its agent; null when the agent was deleted. */
  readonly agent_seen_at: number | null
  readonly agent_heard_since: number | null
}

/** Lists every attempt that may still run. */
export async function listLiveAttempts(query: Query): Promise<LiveAttempt[]> {
  return query
    .selectFrom('attempt')
    .innerJoin('build', 'build.id', 'attempt.build_id')
    .leftJoin('agent', 'agent.id', 'attempt.agent_id')
    .selectAll('attempt')
    .select([
      'build.status as build_status',
      'build.started_at as build_started_at',
      'build.paused_ms as build_paused_ms',
      'build.terminating_at as terminating_at',
      'agent.last_seen_at as agent_seen_at',
      'agent.heard_since as agent_heard_since',
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

/** Counts live attempts, grouped by everything that has a limit. */
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

/** Counts builds that wait for approval and still count against limits. */
export async function countWaitingForApproval(query: Query, accountId: string): Promise<Omit<Occupancy, 'runtime'>[]> {
  return (
    query
      .selectFrom('build')
      .select(['account_id', 'pipeline_id', 'branch', 'trigger_name'])
      .select((expression) => expression.fn.countAll<number>().as('count'))
      .where('account_id', '=', accountId)
      // Literals; see `waiting.ts`.
      .where('status', '=', sql.lit('pending-approval' as const))
      .where('approval_counts', '=', sql.lit(1 as const))
      .groupBy(['account_id', 'pipeline_id', 'branch', 'trigger_name'])
      .execute()
  )
}

/** Attempts of one agent, or on one runtime environment. */
export type AttemptOf = { readonly agentId: string } | { readonly accountId: string; readonly runtime: string }

/** Lists attempts that may have left objects behind, in the order in which builds are locked. */
export async function listUnconfirmed(query: Query, of: AttemptOf): Promise<Pick<AttemptRow, 'build_id' | 'number'>[]> {
  const select = query
    .selectFrom('attempt')
    .select(['build_id', 'number'])
    .where('gone', '=', 0)
    .where((where) =>
      'agentId' in of
        ? where('agent_id', '=', of.agentId)
        : where.and([where('account_id', '=', of.accountId), where('runtime', '=', of.runtime)]),
    )
  return select.orderBy('build_id').orderBy('number').execute()
}

/** Identifies an attempt of a build. */
export interface AttemptKey {
  readonly buildId: string
  readonly attempt: number
}
