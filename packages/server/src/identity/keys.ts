/** API keys, and the creation of the first one. */
import { defined, fault, newToken } from '@windlass/kit'
import { Scope, type ApiKey, type Bootstrap } from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../app.ts'
import { lockAccount } from '../store/account/accounts.ts'
import { countApiKeys, deleteApiKey, findApiKeyByName, insertApiKey, listApiKeys } from '../store/account/api-keys.ts'
import type { ApiKeyRow } from '../store/schema.ts'
import type { Role } from './actor.ts'
import { closeBootstrap, requireBootstrapCode } from './bootstrap-code.ts'

type Created = ApiKey & { token: string }

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

/** Creates a key and returns its token, which cannot be read again. Throws `conflict` if the name is taken. */
export async function createKey(app: App, input: NewKey): Promise<Created> {
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const known = await findApiKeyByName(tx.query, app.accountId, input.name)
    if (known !== undefined)
      throw fault('conflict', {
        message: `The key "${input.name}" already exists.`,
        hint: 'Use another name, or delete the other key first.',
      })
    const { row, token } = newKey(app, input)
    await insertApiKey(tx, row)
    return { ...toKey(row), token }
  })
}

/** Creates the first admin key while there are no keys. Throws `bootstrap-code` for a wrong code, and `bootstrap-closed` if a key exists. */
export async function createFirstKey(app: App, { name, code }: z.output<typeof Bootstrap>): Promise<Created> {
  if ((await countApiKeys(app.store.query, app.accountId)) > 0) throw fault('bootstrap-closed')
  requireBootstrapCode(app, code)
  const created = await app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    if ((await countApiKeys(tx.query, app.accountId)) > 0) throw fault('bootstrap-closed')
    const { row, token } = newKey(app, { name, role: 'admin' })
    await insertApiKey(tx, row)
    return { ...toKey(row), token }
  })
  closeBootstrap(app)
  return created
}

function newKey(app: App, { name, role, scopes: limit = [] }: NewKey): { row: ApiKeyRow; token: string } {
  const now = app.clock.now()
  const { id, hash, text } = newToken(now)
  const scopes = limit.length === 0 ? null : JSON.stringify(limit)
  return { row: { id, account_id: app.accountId, name, role, scopes, hash, created_at: now }, token: text }
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
