/** API keys. Not here: the creation of the first one (`first-key.ts`). */
import { defined, fault, newToken, type Token } from '@windlass/kit'
import { Scope, type ApiKey } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { lockAccount } from '../store/account/accounts.ts'
import { deleteApiKey, findApiKeyByName, insertApiKey, listApiKeys } from '../store/account/api-keys.ts'
import type { ApiKeyRow } from '../store/schema.ts'
import type { Within } from '../store/store.ts'
import type { Role } from './actor.ts'

/** A key with its token, which only its creator gets. */
export type CreatedKey = ApiKey & { token: string }

interface NewKey {
  readonly name: string
  readonly role: Role
  readonly scopes?: readonly Scope[] | undefined
}

const Scopes = z.array(Scope)

/** Returns the scopes that a key is limited to; undefined if it may do everything that its role allows. */
export function readScopes({ scopes }: Pick<ApiKeyRow, 'scopes'>): Scope[] | undefined {
  return scopes === null ? undefined : Scopes.parse(JSON.parse(scopes))
}

/**
 * Creates a key and returns its token, which cannot be read again. Throws `conflict` if the name is taken. `within` runs in the same transaction
 * before the name is checked, so that a repeated call finds its own answer and not a conflict with itself.
 */
export async function createKey(app: App, input: NewKey, within?: Within<CreatedKey>): Promise<CreatedKey> {
  return app.store.write(async (tx) => {
    const token = newToken(app.clock.now())
    const row = newKey(app, input, token)
    const created = toCreated(row, token)
    await lockAccount(tx, app.accountId)
    await within?.(tx, created)
    const known = await findApiKeyByName(tx.query, app.accountId, input.name)
    if (known !== undefined)
      throw fault('conflict', {
        message: `The key "${input.name}" already exists.`,
        hint: 'Use another name, or delete the other key first.',
      })
    await insertApiKey(tx, row)
    return created
  })
}

/** Returns the row of a key with this token. */
export function newKey(app: App, { name, role, scopes: limit = [] }: NewKey, { id, hash }: Token): ApiKeyRow {
  const scopes = limit.length === 0 ? null : JSON.stringify(limit)
  return { id, account_id: app.accountId, name, role, scopes, hash, created_at: app.clock.now() }
}

export function toCreated(row: ApiKeyRow, { text }: Token): CreatedKey {
  return { ...toKey(row), token: text }
}

export async function listKeys(app: App): Promise<ApiKey[]> {
  return (await listApiKeys(app.store.query, app.accountId)).map(toKey)
}

/** Revokes a key by id or name. Throws `not-found`, and `conflict` for the last admin key without scopes. */
export async function deleteKey(app: App, name: string): Promise<string> {
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const keys = await listApiKeys(tx.query, app.accountId)
    const key = keys.find((row) => row.id === name || row.name === name)
    if (key === undefined) throw fault('not-found', { message: `The key "${name}" does not exist.` })
    const admins = keys.filter(({ role, scopes }) => role === 'admin' && scopes === null)
    const isLastAdmin = admins.length === 1 && admins[0]?.id === key.id
    if (isLastAdmin)
      throw fault('conflict', {
        message: 'This is the last admin key without scopes.',
        hint: 'Create another admin key first.',
      })
    await deleteApiKey(tx, key.id)
    return key.id
  })
}

function toKey(row: ApiKeyRow): ApiKey {
  const scopes = readScopes(row)
  return {
    id: row.id,
    name: row.name,
    role: row.role,
    prefix: row.id.slice(0, 8),
    createdAt: row.created_at,
    ...defined({ scopes }),
  }
}
