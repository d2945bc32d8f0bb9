/** The commits that products have seen of their applications. */
import type { ReleaseTriggerRow } from '../schema/schema.ts'
import type { Query, Tx } from '../store.ts'

export async function listReleaseTriggers(query: Query, accountId: string): Promise<ReleaseTriggerRow[]> {
  return query.selectFrom('gitops_release_trigger').selectAll().where('account_id', '=', accountId).orderBy('id').execute()
}

/** Returns false if the product has one for the application. */
export async function insertReleaseTrigger(tx: Tx, row: ReleaseTriggerRow): Promise<boolean> {
  const { numInsertedOrUpdatedRows } = await tx.query
    .insertInto('gitops_release_trigger')
    .values(row)
    .onConflict((conflict) => conflict.columns(['account_id', 'product', 'application_id']).doNothing())
    .executeTakeFirst()
  return numInsertedOrUpdatedRows === 1n
}

/** Stores a state. Returns false if another one was stored since the row was read. */
export async function updateReleaseTrigger(tx: Tx, { id, state: before }: ReleaseTriggerRow, state: string): Promise<boolean> {
  const { numUpdatedRows } = await tx.query
    .updateTable('gitops_release_trigger')
    .set({ state })
    .where('id', '=', id)
    .where('state', '=', before)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function deleteReleaseTrigger(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('gitops_release_trigger').where('id', '=', id).execute()
}
