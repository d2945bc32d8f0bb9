/** Calls at app-proxies whose end is not known. A row is deleted in the transaction that writes the record of its end. */
import type { RuntimeCallRow } from '../schema/schema.ts'
import type { Tx } from '../store.ts'

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

interface Old {
  readonly before: number
  readonly limit: number
}

/** Returns calls that began before and have no record yet, locked until the end of the transaction. */
export async function lockLostCalls(tx: Tx, { before, limit }: Old): Promise<RuntimeCallRow[]> {
  return tx.query
    .selectFrom('gitops_call')
    .selectAll()
    .where('lost_at', 'is', null)
    .where('begun_at', '<', before)
    .orderBy('begun_at')
    .orderBy('id')
    .limit(limit)
    .$call(tx.forUpdate)
    .execute()
}

export async function markCallLost(tx: Tx, id: string, now: number): Promise<void> {
  await tx.query.updateTable('gitops_call').set({ lost_at: now }).where('id', '=', id).execute()
}

/** Deletes calls that have a record and whose end is not expected any more. */
export async function deleteOldRuntimeCalls(tx: Tx, before: number): Promise<void> {
  await tx.query.deleteFrom('gitops_call').where('lost_at', '<', before).execute()
}
