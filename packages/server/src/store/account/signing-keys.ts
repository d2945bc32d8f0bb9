import type { SigningKeyRow } from '../schema/user-schema.ts'
import type { Query, Tx } from '../store.ts'

/** Lists the keys in the order in which they sign. */
export async function listSigningKeys(query: Query, accountId: string): Promise<SigningKeyRow[]> {
  return query.selectFrom('signing_key').selectAll().where('account_id', '=', accountId).orderBy('signs_from').execute()
}

export async function insertSigningKey(tx: Tx, key: SigningKeyRow): Promise<void> {
  await tx.query.insertInto('signing_key').values(key).execute()
}

export async function deleteSigningKeys(tx: Tx, ids: readonly string[]): Promise<void> {
  if (ids.length > 0) await tx.query.deleteFrom('signing_key').where('id', 'in', ids).execute()
}
