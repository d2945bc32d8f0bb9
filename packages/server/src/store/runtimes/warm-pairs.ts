import type { TriggerKind } from '@windlass/plan'
import type { WarmPairRow } from '../schema/schema.ts'
import { preparedOne } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'

export async function insertPair(tx: Tx, pair: WarmPairRow): Promise<void> {
  await tx.query.insertInto('warm_pair').values(pair).execute()
}

const find = preparedOne((query: Query, id: string) => query.selectFrom('warm_pair').selectAll().where('id', '=', id))

export async function findPair(query: Query, id: string): Promise<WarmPairRow | undefined> {
  return find(query, id)
}

export async function lockPair(tx: Tx, id: string): Promise<WarmPairRow | undefined> {
  return tx.query.selectFrom('warm_pair').selectAll().where('id', '=', id).$call(tx.forUpdate).executeTakeFirst()
}

export async function findPairByBootstrap(query: Query, bootstrapId: string): Promise<WarmPairRow | undefined> {
  return query.selectFrom('warm_pair').selectAll().where('bootstrap_id', '=', bootstrapId).executeTakeFirst()
}

/** Returns the ids of the pairs that attempts of a build used; their disks belong to the build. */
export async function listPairsOf(query: Query, buildId: string): Promise<string[]> {
  const rows = await query.selectFrom('warm_pair').select('id').where('build_id', '=', buildId).execute()
  return rows.map(({ id }) => id)
}

export async function updatePair(tx: Tx, id: string, changes: Partial<WarmPairRow>): Promise<void> {
  await tx.query.updateTable('warm_pair').set(changes).where('id', '=', id).execute()
}

/** Marks all pairs of an agent as gone. */
export async function endPairsOf(tx: Tx, agentId: string, now: number): Promise<void> {
  await tx.query
    .updateTable('warm_pair')
    .set({ status: 'gone', ended_at: now })
    .where('agent_id', '=', agentId)
    .where('status', 'in', ['starting', 'ready', 'stopping'])
    .execute()
}

/** Lists pairs that are starting, ready or stopping, oldest first. */
export async function listLivePairs(query: Query, accountId: string): Promise<WarmPairRow[]> {
  return query
    .selectFrom('warm_pair')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('status', 'in', ['starting', 'ready', 'stopping'])
    .orderBy('created_at')
    .orderBy('id')
    .execute()
}

/** Returns true if any pair is stored, live or ended. */
export async function hasPairs(query: Query, accountId: string): Promise<boolean> {
  const row = await query.selectFrom('warm_pair').select('id').where('account_id', '=', accountId).limit(1).executeTakeFirst()
  return row !== undefined
}

/** Counts the pairs of a runtime that failed since a time. */
export async function countFailedPairs(query: Query, of: { accountId: string; runtime: string; since: number }): Promise<number> {
  const { count } = await query
    .selectFrom('warm_pair')
    .select((expression) => expression.fn.countAll<number | string>().as('count'))
    .where('account_id', '=', of.accountId)
    .where('runtime', '=', of.runtime)
    .where('message', 'is not', null)
    .where('ended_at', '>=', of.since)
    .executeTakeFirstOrThrow()
  return Number(count)
}

/** Returns why the latest pair of a runtime failed; undefined if one became ready after it. */
export async function findPairProblem(
  query: Query,
  of: { accountId: string; runtime: string; since: number },
): Promise<string | undefined> {
  const ofRuntime = () => query.selectFrom('warm_pair').where('account_id', '=', of.accountId).where('runtime', '=', of.runtime)
  const failed = await ofRuntime()
    .select(['message', 'ended_at'])
    .where('message', 'is not', null)
    .where('ended_at', '>=', of.since)
    .orderBy('ended_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  if (failed === undefined) return undefined
  const later = await ofRuntime().select('id').where('ready_at', '>', failed.ended_at).limit(1).executeTakeFirst()
  return later === undefined ? (failed.message ?? undefined) : undefined
}

export interface PairFilter {
  readonly accountId: string
  readonly runtime: string
  readonly agentId: string
  readonly specHash: string
  readonly fitKey: string
  readonly pipelineId: string | null
  /** The engine of the pair must have requested a build since this time. */
  readonly waitsSince: number
}

/** Locks the best ready pair for a build: of its own pipeline first, then the oldest. No two callers get the same one. */
export async function lockReadyPair(tx: Tx, filter: PairFilter): Promise<WarmPairRow | undefined> {
  const fitting = (): ReturnType<typeof select> => select(tx, filter)
  const own =
    filter.pipelineId === null ? undefined : await fitting().where('pipeline_id', '=', filter.pipelineId).executeTakeFirst()
  return own ?? fitting().executeTakeFirst()
}

function select(tx: Tx, filter: PairFilter) {
  return tx.query
    .selectFrom('warm_pair')
    .selectAll()
    .where('account_id', '=', filter.accountId)
    .where('status', '=', 'ready')
    .where('runtime', '=', filter.runtime)
    .where('agent_id', '=', filter.agentId)
    .where('spec_hash', '=', filter.specHash)
    .where('fit_key', '=', filter.fitKey)
    .where('waits_at', '>=', filter.waitsSince)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .$call(tx.skipLocked)
}

/** A start of a build, used to estimate demand. */
export interface Start {
  readonly runtime: string
  readonly at: number
  readonly pipeline_id: string | null
  readonly project_id: string | null
  readonly trigger: TriggerKind
  readonly trigger_name: string | null
  readonly branch: string | null
}

/** Lists first attempts since a time, newest first. */
export async function listStarts(query: Query, of: { accountId: string; since: number; limit: number }): Promise<Start[]> {
  return query
    .selectFrom('attempt')
    .innerJoin('build', 'build.id', 'attempt.build_id')
    .select(['attempt.runtime as runtime', 'attempt.created_at as at'])
    .select(['build.pipeline_id', 'build.project_id', 'build.trigger', 'build.trigger_name', 'build.branch'])
    .where('attempt.account_id', '=', of.accountId)
    .where('attempt.created_at', '>=', of.since)
    .where('attempt.number', '=', 1)
    .orderBy('attempt.created_at', 'desc')
    .limit(of.limit)
    .execute()
}

/** Deletes pairs that ended before a time. */
export async function deleteOldPairs(tx: Tx, before: number): Promise<void> {
  await tx.query.deleteFrom('warm_pair').where('ended_at', '<', before).execute()
}
