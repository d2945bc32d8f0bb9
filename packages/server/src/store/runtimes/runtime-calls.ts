/** Calls at app-proxies whose end is not known. A row is deleted in the transaction that writes the record of its end. */
import type { RuntimeCallRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

/** Returns false if there is one with this id. */
export async function insertRuntimeCall(tx: Tx, row: Omit<RuntimeCallRow, 'lost_at'>): Promise<boolean> {
  const inserted = await tx.query
    .insertInto('gitops_call')
    .values({ ...row, lost_at: null })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .executeTakeFirst()
  return (inserted.numInsertedOrUpdatedRows ?? 0n) > 0n
}

/** Returns a call of a runtime, locked until the end of the transaction. */
export async function lockRuntimeCall(tx: Tx, runtimeId: string, id: string): Promise<RuntimeCallRow | undefined> {
  return tx.query
    .selectFrom('gitops_call')
    .selectAll()
    .where('id', '=', id)
    .where('runtime_id', '=', runtimeId)
    .$call(tx.forUpdate)
    .executeTakeFirst()
}

export async function deleteRuntimeCall(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('gitops_call').where('id', '=', id).execute()
}

/** Returns how many calls of a runtime have neither ended nor a record. */
export async function countOpenCalls(query: Query, runtimeId: string): Promise<number> {
  const row = await query
    .selectFrom('gitops_call')
    .select((of) => of.fn.countAll<number | string>().as('count'))
    .where('runtime_id', '=', runtimeId)
    .where('lost_at', 'is', null)
    .executeTakeFirst()
  return Number(row?.count ?? 0)
}

/** The place of a call among those that began before and have no record yet. */
export type LostCall = Pick<RuntimeCallRow, 'id' | 'begun_at'>

interface LostPage {
  readonly before: number
  /** The last one of the page before. */
  readonly after: LostCall
  readonly limit: number
}

/** Lists calls that began before and have no record yet, oldest first. */
export async function listLostCalls(query: Query, { before, after, limit }: LostPage): Promise<LostCall[]> {
  return query
    .selectFrom('gitops_call')
    .select(['id', 'begun_at'])
    .where('lost_at', 'is', null)
    .where('begun_at', '<', before)
    .where(({ eb, refTuple, tuple }) => eb(refTuple('begun_at', 'id'), '>', tuple(after.begun_at, after.id)))
    .orderBy('begun_at')
    .orderBy('id')
    .limit(limit)
    .execute()
}

/** Returns a call that has no record yet, locked until the end of the transaction. */
export async function lockLostCall(tx: Tx, id: string): Promise<RuntimeCallRow | undefined> {
  return tx.query
    .selectFrom('gitops_call')
    .selectAll()
    .where('id', '=', id)
    .where('lost_at', 'is', null)
    .$call(tx.forUpdate)
    .executeTakeFirst()
}

export async function markCallLost(tx: Tx, id: string, now: number): Promise<void> {
  await tx.query.updateTable('gitops_call').set({ lost_at: now }).where('id', '=', id).execute()
}

/** Rows that are deleted at once: each lost call of a runtime adds one. */
const SURPLUS = 100

/** Deletes the oldest calls of a runtime that have a record, so that `keep` are left. */
export async function deleteSurplusLostCalls(tx: Tx, runtimeId: string, keep: number): Promise<void> {
  const surplus = await tx.query
    .selectFrom('gitops_call')
    .select('id')
    .where('runtime_id', '=', runtimeId)
    .where('lost_at', 'is not', null)
    .orderBy('lost_at', 'desc')
    .orderBy('id', 'desc')
    .limit(SURPLUS)
    .offset(keep)
    .execute()
  for (const { id } of surplus) await deleteRuntimeCall(tx, id)
}

/** Deletes calls that have a record and whose end is not expected any more. */
export async function deleteOldRuntimeCalls(tx: Tx, before: number): Promise<void> {
  await tx.query.deleteFrom('gitops_call').where('lost_at', '<', before).execute()
}
