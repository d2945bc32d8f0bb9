/** Why pods of runtimes do not start: what live attempts wait for, and which objects were rejected. */
import type { Reason } from '@windlass/plan'
import { sql } from 'kysely'
import type { Query } from '../store.ts'

/** Problems of the same kind on one runtime. */
export interface StartProblem {
  readonly runtime: string
  readonly reason: Reason
  readonly count: number
  readonly since: number
  /** The message of one of them. */
  readonly message: string | null
}

/** Lists what attempts wait for now, by runtime and reason. */
export async function listStartWaits(query: Query, accountId: string): Promise<StartProblem[]> {
  const rows = await query
    .selectFrom('attempt')
    .select(['runtime', 'waiting_reason'])
    .select((of) => [
      of.fn.countAll<number>().as('count'),
      of.fn.min('waiting_since').as('since'),
      of.fn.max('waiting_message').as('message'),
    ])
    .where('account_id', '=', accountId)
    // Without `lost`: what a lost attempt waited for does not matter any more. The index of the status is used.
    .where('status', 'in', ['created', 'started', 'suspect'])
    .where('waiting_reason', 'is not', null)
    .groupBy(['runtime', 'waiting_reason'])
    .execute()
  return rows.flatMap(({ waiting_reason: reason, since, ...row }) =>
    reason === null ? [] : [{ ...row, reason, since: Number(since ?? 0), count: Number(row.count) }],
  )
}

const REJECTED = ['policy-refused', 'pod-rejected'] as const

/** Lists objects that were rejected since a time and after the last attempt that started on the same runtime. */
export async function listRejections(query: Query, accountId: string, since: number): Promise<StartProblem[]> {
  const recent = query.selectFrom('attempt').where('account_id', '=', accountId).where('created_at', '>=', since)
  const rejected = await recent
    .select(['runtime', 'reason', 'message', 'created_at'])
    .where('reason', 'in', REJECTED)
    .orderBy('created_at', 'desc')
    .execute()
  if (rejected.length === 0) return []
  const started = await recent
    .select(['runtime', sql<number>`max(created_at)`.as('at')])
    .where('started_at', 'is not', null)
    .groupBy('runtime')
    .execute()
  const startedAt = new Map(started.map(({ runtime, at }) => [runtime, Number(at)]))
  const problems = new Map<string, StartProblem>()
  for (const { runtime, reason, message, created_at: at } of rejected) {
    if (reason === null || at <= (startedAt.get(runtime) ?? 0)) continue
    const key = `${runtime}/${reason}`
    const known = problems.get(key)
    problems.set(key, {
      runtime,
      reason,
      message: known === undefined ? message : known.message,
      count: (known?.count ?? 0) + 1,
      since: at,
    })
  }
  return [...problems.values()]
}
