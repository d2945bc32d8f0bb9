/** The last checks of contexts. */
import type { ContextCheckRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

type Request = Omit<ContextCheckRow, 'state' | 'message' | 'result'>

/** Stores the request of a check. Keeps the last result. Does nothing if the same job is stored already. */
export async function saveCheckRequest(tx: Tx, request: Request): Promise<void> {
  const before = await findContextCheck(tx.query, request.context_id, request.runtime_id)
  if (before?.job_id === request.job_id) return
  const state = { state: 'running', message: null } as const
  await tx.query
    .insertInto('context_check')
    .values({ ...request, ...state, result: null })
    .onConflict((conflict) => conflict.columns(['context_id', 'runtime_id']).doUpdateSet({ ...request, ...state }))
    .execute()
}

/** Stores what became of a job. Does nothing if a later request has replaced it. */
export async function endContextCheck(
  tx: Tx,
  jobId: string,
  end: Pick<ContextCheckRow, 'state'> & Partial<Pick<ContextCheckRow, 'message' | 'result'>>,
): Promise<void> {
  await tx.query.updateTable('context_check').set(end).where('job_id', '=', jobId).execute()
}

export async function findContextCheck(query: Query, contextId: string, runtimeId: string): Promise<ContextCheckRow | undefined> {
  return query
    .selectFrom('context_check')
    .selectAll()
    .where('context_id', '=', contextId)
    .where('runtime_id', '=', runtimeId)
    .executeTakeFirst()
}

/** Counts the checks in progress besides that of one context and runtime. */
export async function countOtherChecks(
  query: Query,
  {
    context_id: contextId,
    runtime_id: runtimeId,
    account_id: accountId,
  }: Pick<Request, 'context_id' | 'runtime_id' | 'account_id'>,
  now: number,
): Promise<number> {
  const found = await query
    .selectFrom('context_check')
    .select((of) => of.fn.countAll().as('count'))
    .where('account_id', '=', accountId)
    .where('state', '=', 'running')
    .where('expires_at', '>', now)
    .where((where) => where.or([where('context_id', '!=', contextId), where('runtime_id', '!=', runtimeId)]))
    .executeTakeFirst()
  return Number(found?.count ?? 0)
}

/** Lists the last checks of a context, the latest first. */
export async function listContextChecks(query: Query, contextId: string): Promise<ContextCheckRow[]> {
  return query
    .selectFrom('context_check')
    .selectAll()
    .where('context_id', '=', contextId)
    .orderBy('requested_at', 'desc')
    .execute()
}
