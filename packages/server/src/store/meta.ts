import type { Query, Tx } from './store.ts'

export async function findMeta(query: Query, key: string): Promise<string | undefined> {
  return (await query.selectFrom('meta').select('value').where('key', '=', key).executeTakeFirst())?.value
}

/** Stores the value unless the key has one; answers the value that counts. */
export async function insertMeta(tx: Tx, key: string, value: string): Promise<string> {
  await tx.query
    .insertInto('meta')
    .values({ key, value })
    .onConflict((conflict) => conflict.column('key').doNothing())
    .execute()
  return (await findMeta(tx.query, key)) ?? value
}
