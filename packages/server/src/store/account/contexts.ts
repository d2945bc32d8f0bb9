import type { ContextRow } from '../schema/schema.ts'
import { prepared } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'

/** Finds a context by id or name. */
export async function findContext(query: Query, accountId: string, name: string): Promise<ContextRow | undefined> {
  return query
    .selectFrom('context')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)]))
    .executeTakeFirst()
}

/** Finds a context by id or name, and locks it until the end of the transaction. */
export async function lockContext(tx: Tx, accountId: string, name: string): Promise<ContextRow | undefined> {
  const select = tx.query
    .selectFrom('context')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)]))
  return tx.forUpdate(select).executeTakeFirst()
}

type Renewal = Partial<Pick<ContextRow, 'data' | 'expires_at' | 'renew_after' | 'problem' | 'refused_at'>>

/** Stores a step of the renewal of the token of a context. */
export async function updateRenewal(tx: Tx, id: string, change: Renewal): Promise<void> {
  await tx.query.updateTable('context').set(change).where('id', '=', id).execute()
}

const list = prepared((query: Query, accountId: string) =>
  query.selectFrom('context').selectAll().where('account_id', '=', accountId).orderBy('name'),
)

export async function listContexts(query: Query, accountId: string): Promise<ContextRow[]> {
  return list(query, accountId)
}

/** Inserts or replaces a context by id. If it is the default, the others of its type stop being the default. */
export async function saveContext(tx: Tx, context: ContextRow): Promise<void> {
  if (context.is_default === 1) {
    await tx.query
      .updateTable('context')
      .set({ is_default: 0 })
      .where('account_id', '=', context.account_id)
      .where('type', '=', context.type)
      .execute()
  }
  await tx.query
    .insertInto('context')
    .values(context)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(context))
    .execute()
}

/** Deletes a context with its checks. */
export async function deleteContext(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('context_check').where('context_id', '=', id).execute()
  await tx.query.deleteFrom('context').where('id', '=', id).execute()
}
