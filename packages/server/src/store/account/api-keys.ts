import type { ApiKeyRow } from '../schema.ts'
import type { Query, Tx } from '../store.ts'

export async function insertApiKey(tx: Tx, key: ApiKeyRow): Promise<void> {
  await tx.query.insertInto('api_key').values(key).execute()
}

export async function findApiKey(query: Query, id: string): Promise<ApiKeyRow | undefined> {
  return query.selectFrom('api_key').selectAll().where('id', '=', id).executeTakeFirst()
}

export async function findApiKeyByName(query: Query, accountId: string, name: string): Promise<ApiKeyRow | undefined> {
  return query
    .selectFrom('api_key')
    .selectAll()
    .where('account_id', '=', accountId)
    .where((where) => where.or([where('id', '=', name), where('name', '=', name)]))
    .executeTakeFirst()
}

export async function listApiKeys(query: Query, accountId: string): Promise<ApiKeyRow[]> {
  return query.selectFrom('api_key').selectAll().where('account_id', '=', accountId).orderBy('name').execute()
}

export async function countApiKeys(query: Query, accountId: string): Promise<number> {
  const { count } = await query
    .selectFrom('api_key')
    .select((of) => of.fn.countAll<number>().as('count'))
    .where('account_id', '=', accountId)
    .executeTakeFirstOrThrow()
  return count
}

/** Deletes a key with its sessions. */
export async function deleteApiKey(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('session').where('key_id', '=', id).execute()
  await tx.query.deleteFrom('session_code').where('key_id', '=', id).execute()
  await tx.query.deleteFrom('api_key').where('id', '=', id).execute()
}
