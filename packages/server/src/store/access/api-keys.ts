import type { ApiKeyRow, UserRow } from '../schema/user-schema.ts'
import type { Query, Tx } from '../store.ts'
import { deleteMeta, listMeta } from '../account/meta.ts'

/** Prefix of the keys of `meta` with the time of the latest use of an API key; its id follows. */
export const KEY_USE = 'key-use/'

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

/** A key with its owner. */
export interface OwnedKey extends ApiKeyRow {
  readonly owner?: Pick<UserRow, 'id' | 'name' | 'kind'> | undefined
}

/** Lists keys by name: all, or those of an owner. */
export async function listApiKeys(query: Query, accountId: string, ownerId?: string): Promise<OwnedKey[]> {
  let select = query
    .selectFrom('api_key')
    .leftJoin('user_account', 'user_account.id', 'api_key.user_id')
    .selectAll('api_key')
    .select(['user_account.name as owner_name', 'user_account.kind as owner_kind'])
    .where('api_key.account_id', '=', accountId)
  if (ownerId !== undefined) select = select.where('api_key.user_id', '=', ownerId)
  const rows = await select.orderBy('api_key.name').execute()
  return rows.map(({ owner_name: name, owner_kind: kind, ...key }) =>
    key.user_id === null || name === null || kind === null ? key : { ...key, owner: { id: key.user_id, name, kind } },
  )
}

/** Returns true if the account has a key or a user, so that its first admin exists. */
export async function hasCredentials(query: Query, accountId: string): Promise<boolean> {
  for (const table of ['api_key', 'user_account'] as const) {
    const row = await query.selectFrom(table).select('id').where('account_id', '=', accountId).limit(1).executeTakeFirst()
    if (row !== undefined) return true
  }
  return false
}

export async function deleteOldKeys(tx: Tx, before: number): Promise<void> {
  const old = await tx.query.selectFrom('api_key').select('id').where('expires_at', '<', before).limit(1000).execute()
  for (const { id } of old) await deleteApiKey(tx, id)
}

/** Deletes the uses of keys that no longer exist: another server can note a use just after the deletion, and one of an earlier version leaves them. */
export async function deleteLeftKeyUses(tx: Tx): Promise<void> {
  const uses = await listMeta(tx.query, KEY_USE)
  if (uses.length === 0) return
  const keys = new Set((await tx.query.selectFrom('api_key').select('id').execute()).map(({ id }) => KEY_USE + id))
  for (const { key } of uses) if (!keys.has(key)) await deleteMeta(tx, key)
}

export async function updateApiKey(tx: Tx, id: string, changes: Pick<ApiKeyRow, 'name' | 'scopes'>): Promise<void> {
  await tx.query.updateTable('api_key').set(changes).where('id', '=', id).execute()
}

/** Deletes a key with its sessions. */
export async function deleteApiKey(tx: Tx, id: string): Promise<void> {
  await tx.query.deleteFrom('session').where('key_id', '=', id).execute()
  await tx.query.deleteFrom('session_code').where('key_id', '=', id).execute()
  await tx.query.deleteFrom('api_key').where('id', '=', id).execute()
  await deleteMeta(tx, KEY_USE + id)
}
