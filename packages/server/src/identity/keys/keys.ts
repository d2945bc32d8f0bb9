/** API keys. Not here: the creation of the first one (`first-key.ts`), what a key may do (`key-actor.ts`). */
import { defined, fault, newToken, type Token } from '@windlass/kit'
import { lowerRole, toRole, type ApiKey, type Role, type Scope } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { noteSubject } from '../../audit/call.ts'
import { lockAccount } from '../../store/account/accounts.ts'
import { deleteApiKey, findApiKeyByName, insertApiKey, listApiKeys, type OwnedKey } from '../../store/access/api-keys.ts'
import { findUser, hasAdmin } from '../../store/access/users.ts'
import type { ApiKeyRow, UserRow } from '../../store/schema/user-schema.ts'
import type { Query, Tx, Within } from '../../store/store.ts'
import { manageableBy, type Actor, type KeyActor } from '../actor.ts'
import { toOwner } from './key-actor.ts'
import { readScopes } from './key-scopes.ts'
import { readKeyUses } from './key-use.ts'

/** A key with its token, which only its creator gets. */
export type CreatedKey = ApiKey & { token: string }

export interface NewKey {
  readonly name: string
  readonly role: Role
  readonly scopes?: readonly Scope[] | undefined
  /** Undefined for a key without an owner. */
  readonly owner?: Pick<UserRow, 'id' | 'name' | 'kind'> | undefined
  /** Name of the caller. Default: the owner. */
  readonly createdBy?: string | undefined
  readonly expiresAt?: number | undefined
}

/**
 * Creates a key and returns its token, which cannot be read again. Throws `conflict` if the name is taken. `within` runs in the same transaction
 * before the name is checked, so that a repeated call finds its own answer and not a conflict with itself.
 */
export async function createKey(app: App, input: NewKey, within?: Within<CreatedKey>): Promise<CreatedKey> {
  return app.store.write(async (tx) => {
    const token = newToken(app.clock.now())
    const row = newKey(app, input, token)
    const created = toCreated({ ...row, owner: input.owner }, token)
    await lockAccount(tx, app.accountId)
    await within?.(tx, created)
    await requireFreeName(app, tx, input.name)
    await insertApiKey(tx, row)
    const of = input.owner === undefined ? '' : ` of ${input.owner.name}`
    noteSubject(`key ${input.name}${of}, role ${input.role}${input.scopes?.length ? `, scopes ${input.scopes.join(', ')}` : ''}`)
    return created
  })
}

async function requireFreeName(app: App, tx: Tx, name: string): Promise<void> {
  const known = await findApiKeyByName(tx.query, app.accountId, name)
  if (known !== undefined)
    throw fault('conflict', {
      message: `The key "${name}" already exists.`,
      hint: 'Use another name, or delete the other key first.',
    })
}

/** Returns the row of a key with this token. */
export function newKey(
  app: App,
  { name, role, scopes: limit = [], owner, createdBy = owner?.name, expiresAt }: NewKey,
  { id, hash }: Token,
): ApiKeyRow {
  const scopes = limit.length === 0 ? null : JSON.stringify(limit)
  const times = { created_at: app.clock.now(), expires_at: expiresAt ?? null }
  const people = { user_id: owner?.id ?? null, created_by: createdBy ?? null }
  return { id, account_id: app.accountId, name, role, scopes, hash, ...people, ...times }
}

export function toCreated(row: OwnedKey, { text }: Token): CreatedKey {
  return { ...toKey(row), token: text }
}

/** Lists the keys that the actor may manage. */
export async function listKeys(app: App, actor: Actor): Promise<ApiKey[]> {
  const uses = await readKeyUses(app.store.query)
  return (await listManageable(app, app.store.query, actor)).map((row) => ({
    ...toKey(row),
    ...defined({ usedAt: uses.get(row.id) }),
  }))
}

async function listManageable(app: App, query: Query, actor: Actor): Promise<OwnedKey[]> {
  const { ownerId, keyId } = manageableBy(actor)
  const keys = await listApiKeys(query, app.accountId, ownerId)
  return keyId === undefined ? keys : keys.filter(({ id }) => id === keyId)
}

interface KeyRequest {
  readonly role: Role
  readonly owner?: string | undefined
  readonly expiresAt?: number | undefined
}

/**
 * Returns the owner of a new key: the caller, or the one that an admin names. Undefined if the caller has none. Throws `forbidden` for a key of another user or
 * with a higher role than the caller has, `not-found`, and `request-invalid` for an end in the past.
 */
export async function requireOwner(app: App, actor: Actor, { role, owner, expiresAt }: KeyRequest): Promise<UserRow | undefined> {
  const { ownerId, keyId } = manageableBy(actor)
  if (keyId !== undefined)
    throw fault('forbidden', {
      message: 'A key that has no owner, or fewer rights than its owner, cannot create keys.',
      hint: 'Log in with `windlass login`.',
    })
  if (expiresAt !== undefined && expiresAt <= app.clock.now())
    throw fault('request-invalid', {
      message: 'expiresAt is in the past.',
      hint: 'Use a time in the future, in milliseconds since 1970.',
    })
  const own = actor.kind === 'key' ? actor.owner?.id : undefined
  const found = await findOwner(app.store.query, app.accountId, owner ?? own)
  if (ownerId !== undefined && found?.id !== ownerId)
    throw fault('forbidden', { message: 'Only an admin may create keys for others.' })
  if (ownerId !== undefined && actor.kind === 'key') requireOwnRole(actor, role)
  return found
}

async function findOwner(query: Query, accountId: string, name: string | undefined): Promise<UserRow | undefined> {
  if (name === undefined) return undefined
  const found = await findUser(query, accountId, name)
  if (found === undefined)
    throw fault('not-found', { message: `The user "${name}" does not exist.`, hint: 'List them with `windlass get users`.' })
  return found
}

/** Throws `forbidden` if the role is higher than every role of the caller. A caller with a limited key cannot get a key with more rights. */
function requireOwnRole(actor: KeyActor, role: Role): void {
  const held = [actor.role, ...(actor.projects?.values() ?? []), ...(actor.pipelines?.values() ?? [])]
  const isHeld = held.some((one) => one !== 'none' && lowerRole(one, role) === role)
  if (isHeld) return
  throw fault('forbidden', {
    message: `The caller does not have the role ${role} anywhere and cannot create a key with it.`,
    hint: 'Create the key with a lower role.',
  })
}

/** Revokes a key by id or name. Throws `not-found`, also for keys that the actor may not manage, and `conflict` if no admin could sign in any more. */
export async function deleteKey(app: App, actor: Actor, name: string): Promise<string> {
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const key = (await listManageable(app, tx.query, actor)).find((row) => row.id === name || row.name === name)
    if (key === undefined) throw fault('not-found', { message: `The key "${name}" does not exist.` })
    await deleteApiKey(tx, key.id)
    await requireAdminLeft(app, tx)
    return key.id
  })
}

/** Throws `conflict`, which rolls the change back, if no admin could sign in after it. The account must be locked. */
export async function requireAdminLeft(app: App, tx: Tx): Promise<void> {
  if (await hasAdmin(tx.query, app.accountId)) return
  throw fault('conflict', {
    message:
      'After this change no admin could sign in: it needs an active user with the role admin and a password, or an admin key without scopes and end.',
    hint: 'Create another admin or another admin key first.',
  })
}

/** Converts a key for the API. */
export function toKey(row: OwnedKey): ApiKey {
  const scopes = readScopes(row)
  return {
    id: row.id,
    name: row.name,
    role: toRole(row.role),
    prefix: row.id.slice(0, 8),
    createdAt: row.created_at,
    ...defined({
      scopes,
      owner: row.owner === undefined ? undefined : toOwner(row.owner),
      createdBy: row.created_by ?? undefined,
      expiresAt: row.expires_at ?? undefined,
    }),
  }
}
