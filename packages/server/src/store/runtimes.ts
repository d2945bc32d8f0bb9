import type { RuntimeRow } from './schema.ts'
import type { Query, Tx } from './store.ts'

/** By id or name. */
export async function findRuntime(query: Query, accountId: string, name: string): Promise<RuntimeRow | undefined> {
  return query
    .selectFrom('runtime')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((expression) => expression.or([expression('id', '=', name), expression('name', '=', name)]))
    .executeTakeFirst()
}

export async function findDefaultRuntime(query: Query, accountId: string): Promise<RuntimeRow | undefined> {
  return query
    .selectFrom('runtime')
    .selectAll()
    .where('account_id', '=', accountId)
    .where('is_default', '=', 1)
    .orderBy('name')
    .executeTakeFirst()
}

export async function listRuntimes(query: Query, accountId: string): Promise<RuntimeRow[]> {
  return query.selectFrom('runtime').selectAll().where('account_id', '=', accountId).orderBy('name').execute()
}

/** Inserts it, or replaces the one of this id. A default one takes the mark from the others. */
export async function saveRuntime(tx: Tx, runtime: RuntimeRow): Promise<void> {
  if (runtime.is_default === 1) {
    await tx.query
      .updateTable('runtime')
      .set({ is_default: 0 })
      .where('account_id', '=', runtime.account_id)
      .where('is_default', '=', 1)
      .execute()
  }
  await tx.query
    .insertInto('runtime')
    .values(runtime)
    .onConflict((conflict) => conflict.column('id').doUpdateSet(runtime))
    .execute()
}

export async function deleteRuntime(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('runtime').where('id', '=', id).execute()
}

/** Every runtime of the account, locked in the order of their ids: their capacity is being decided on. */
export async function lockRuntimes(tx: Tx, accountId: string): Promise<RuntimeRow[]> {
  return tx.query
    .selectFrom('runtime')
    .selectAll()
    .where('account_id', '=', accountId)
    .orderBy('id')
    .$call(tx.forUpdate)
    .execute()
}
