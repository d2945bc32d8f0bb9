import type { Query, Tx } from './store.ts'

/** The first account's id, made with the given one when there is none. One server serves one account for now. */
export async function ensureAccount(tx: Tx, account: { id: string; name: string; now: number }): Promise<string> {
  const known = await tx.query.selectFrom('account').select('id').orderBy('created_at').executeTakeFirst()
  if (known !== undefined) return known.id
  await tx.query
    .insertInto('account')
    .values({ id: account.id, name: account.name, last_build_number: 0, settings: '{}', created_at: account.now })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
  return account.id
}

/** The next build number of an account: 1, 2, 3 … Holds the account's row until the end of the transaction. */
export async function takeBuildNumber(tx: Tx, accountId: string): Promise<number> {
  const { last_build_number: number } = await tx.query
    .updateTable('account')
    .set((expression) => ({ last_build_number: expression('last_build_number', '+', 1) }))
    .where('id', '=', accountId)
    .returning('last_build_number')
    .executeTakeFirstOrThrow()
  return number
}

/** Holds the account's row until the end of the transaction. */
export async function lockAccount(tx: Tx, accountId: string): Promise<void> {
  await tx.query.selectFrom('account').select('id').where('id', '=', accountId).$call(tx.forUpdate).execute()
}

/** JSON: AccountSettings as they were set. */
export async function findAccountSettings(query: Query, accountId: string): Promise<string | undefined> {
  return (await query.selectFrom('account').select('settings').where('id', '=', accountId).executeTakeFirst())?.settings
}

export async function saveAccountSettings(tx: Tx, accountId: string, settings: string): Promise<void> {
  await tx.query.updateTable('account').set({ settings }).where('id', '=', accountId).execute()
}
