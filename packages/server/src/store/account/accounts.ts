import { insertMeta } from './meta.ts'
import { preparedOne } from '../database/prepared.ts'
import type { Query, Tx } from '../store.ts'

/** Key of `meta` with the id of the account that all servers of a database use. If two servers start at the same time, the second waits and uses the first one's id. */
const FIRST_ACCOUNT = 'first-account'

/** Returns the id of the first account, which is created from the given one if there is none. A server serves one account. */
export async function ensureAccount(tx: Tx, account: { id: string; name: string; now: number }): Promise<string> {
  const known = await tx.query.selectFrom('account').select('id').orderBy('created_at').executeTakeFirst()
  if (known !== undefined) return known.id
  const id = await insertMeta(tx, FIRST_ACCOUNT, account.id)
  await tx.query
    .insertInto('account')
    .values({ id, name: account.name, last_build_number: 0, settings: '{}', created_at: account.now })
    .onConflict((conflict) => conflict.column('id').doNothing())
    .execute()
  return id
}

const takeNumber = preparedOne((tx: Tx, accountId: string) =>
  tx.query
    .updateTable('account')
    .set((expression) => ({ last_build_number: expression('last_build_number', '+', 1) }))
    .where('id', '=', accountId)
    .returning('last_build_number'),
)

/** Returns the next build number of an account: 1, 2, 3 … Locks the account row until the end of the transaction. */
export async function takeBuildNumber(tx: Tx, accountId: string): Promise<number> {
  const row = await takeNumber(tx, accountId)
  if (row === undefined) throw new Error(`the account ${accountId} does not exist`)
  return row.last_build_number
}

/** Locks the account row until the end of the transaction. */
export async function lockAccount(tx: Tx, accountId: string): Promise<void> {
  await tx.query.selectFrom('account').select('id').where('id', '=', accountId).$call(tx.forUpdate).execute()
}

const findSettings = preparedOne((query: Query, accountId: string) =>
  query.selectFrom('account').select('settings').where('id', '=', accountId),
)

/** Returns the stored AccountSettings as JSON. */
export async function findAccountSettings(query: Query, accountId: string): Promise<string | undefined> {
  return (await findSettings(query, accountId))?.settings
}

export async function saveAccountSettings(tx: Tx, accountId: string, settings: string): Promise<void> {
  await tx.query.updateTable('account').set({ settings }).where('id', '=', accountId).execute()
}
