import type { Query, Tx } from '../store.ts'

export async function findMeta(query: Query, key: string): Promise<string | undefined> {
  return (await query.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirst())?.value
}

/** Reads a value and locks it against changes until the end of the transaction; others can share the lock. */
export async function shareMeta(tx: Tx, key: string): Promise<string | undefined> {
  return (await tx.query.selectFrom('meta').select('value').where('key', '=', key).$call(tx.forShare).executeTakeFirst())?.value
}

/** Reads a value and locks it exclusively until the end of the transaction. */
export async function lockMeta(tx: Tx, key: string): Promise<string | undefined> {
  return (await tx.query.selectFrom('meta').select('value').where('key', '=', key).$call(tx.forUpdate).executeTakeFirst())?.value
}

/** Stores the value unless the key exists. Returns the stored value. */
export async function insertMeta(tx: Tx, key: string, value: string): Promise<string> {
  await tx.query
    .insertInto('meta')
    .values({ key, value })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .execute()
  return (await findMeta(tx.query, key)) ?? value
}

/** Stores the value; replaces an existing one. */
export async function putMeta(tx: Tx, key: string, value: string): Promise<void> {
  await tx.query
    .insertInto('meta')
    .values({ key, value })
    .onConflict((conflict) => conflict.column('key').doUpdateSet({ value }))
    .execute()
}

/** Replaces the value if it is still `from`. Returns false if it is not. */
export async function replaceMeta(tx: Tx, key: string, { from, to }: { from: string; to: string }): Promise<boolean> {
  const { numUpdatedRows } = await tx.query
    .updateTable('meta')
    .set({ value: to })
    .where('key', '=', key)
    .where('value', '=', from)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** Lists the values whose keys have the prefix, which must not contain `%` or `_`. */
export async function listMeta(query: Query, prefix: string): Promise<{ readonly key: string; readonly value: string }[]> {
  return query.selectFrom('meta').select(['key', 'value']).where('key', 'like', `${prefix}%`).execute()
}

/** Deletes the values whose keys have the prefix, which must not contain `%` or `_`. */
export async function deleteMeta(tx: Tx, prefix: string): Promise<void> {
  await tx.query.deleteFrom('meta').where('key', 'like', `${prefix}%`).execute()
}
