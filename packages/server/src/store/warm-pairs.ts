import type { WarmPairRow } from './schema.ts'
import type { Query, Tx } from './store.ts'

export async function insertPair(tx: Tx, pair: WarmPairRow): Promise<void> {
  await tx.query.insertInto('warm_pair').values(pair).execute()
}

export async function findPair(query: Query, id: string): Promise<WarmPairRow | undefined> {
  return query.selectFrom('warm_pair').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function lockPair(tx: Tx, id: string): Promise<WarmPairRow | undefined> {
  return tx.query.selectFrom('warm_pair').selectAll().where('id', '=', id).$call(tx.forUpdate).executeTakeFirst()
}

export async function findPairByBootstrap(query: Query, bootstrapId: string): Promise<WarmPairRow | undefined> {
  return query.selectFrom('warm_pair').selectAll().where('bootstrap_id', '=', bootstrapId).executeTakeFirst()
}

/** Ids of the pairs that attempts of a build took: their disks are the build's. */
export async function listPairsOf(query: Query, buildId: string): Promise<string[]> {
  const rows = await query.selectFrom('warm_pair').select('id').where('build_id', '=', buildId).execute()
  return rows.map(({ id }) => id)
}

export async function updatePair(tx: Tx, id: string, changes: Partial<WarmPairRow>): Promise<void> {
  await tx.query.updateTable('warm_pair').set(changes).where('id', '=', id).execute()
}

/** Those that are being made, are ready, or are being removed; oldest first. */
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

/** How many pairs of a runtime failed since a time. */
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

export interface PairWish {
  readonly accountId: string
  readonly runtime: string
  readonly agentId: string
  readonly specHash: string
  readonly fitKey: string
  readonly pipelineId: string | null
  /** An engine that waits has asked since this time. */
  readonly waitsSince: number
}

/** The best ready pair for a build, locked: of its own pipeline first, then the oldest. Two callers never get the same. */
export async function lockReadyPair(tx: Tx, wish: PairWish): Promise<WarmPairRow | undefined> {
  const fitting = (): ReturnType<typeof select> => select(tx, wish)
  const own = wish.pipelineId === null ? undefined : await fitting().where('pipeline_id', '=', wish.pipelineId).executeTakeFirst()
  return own ?? fitting().executeTakeFirst()
}

function select(tx: Tx, wish: PairWish) {
  return tx.query
    .selectFrom('warm_pair')
    .selectAll()
    .where('account_id', '=', wish.accountId)
    .where('status', '=', 'ready')
    .where('runtime', '=', wish.runtime)
    .where('agent_id', '=', wish.agentId)
    .where('spec_hash', '=', wish.specHash)
    .where('fit_key', '=', wish.fitKey)
    .where('waits_at', '>=', wish.waitsSince)
    .orderBy('created_at')
    .orderBy('id')
    .limit(1)
    .$call(tx.skipLocked)
}

/** A start of a build, by which demand is told. */
export interface Start {
  readonly runtime: string
  readonly at: number
  readonly pipeline_id: string | null
  readonly project_id: string | null
  readonly trigger: string
  readonly branch: string | null
}

/** First attempts since a time, newest first. */
export async function listStarts(query: Query, of: { accountId: string; since: number; limit: number }): Promise<Start[]> {
  return query
    .selectFrom('attempt')
    .innerJoin('build', 'build.id', 'attempt.build_id')
    .select(['attempt.runtime as runtime', 'attempt.created_at as at'])
    .select(['build.pipeline_id', 'build.project_id', 'build.trigger', 'build.branch'])
    .where('attempt.account_id', '=', of.accountId)
    .where('attempt.created_at', '>=', of.since)
    .where('attempt.number', '=', 1)
    .orderBy('attempt.created_at', 'desc')
    .limit(of.limit)
    .execute()
}

/** Forgets pairs that ended before a time. */
export async function deleteOldPairs(tx: Tx, before: number): Promise<void> {
  await tx.query.deleteFrom('warm_pair').where('ended_at', '<', before).execute()
}
