/** Changes of API keys after their creation. The token stays the same. */
import { fault } from '@windlass/kit'
import { toRole, type ApiKey, type Scope } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { lockAccount } from '../../store/account/accounts.ts'
import { listApiKeys, updateApiKey } from '../../store/access/api-keys.ts'
import type { Actor } from '../actor.ts'
import { requireAdminLeft, toKey } from './keys.ts'
import { requireGrantable } from '../scopes.ts'

export interface KeyChange {
  /** Who changes the key. */
  readonly actor: Actor
  /** Id or name of the key. */
  readonly id: string
  /** Absent fields keep their value. Empty scopes: everything that the role allows. */
  readonly change: { readonly name?: string; readonly scopes?: readonly Scope[] }
}

/**
 * Renames a key or changes its scopes. Throws `not-found`, `conflict` if the name is taken or if no admin could sign in after it, and
 * `scope-missing` if a limited key would grant more than it has.
 */
export async function changeKey(app: App, { actor, id, change }: KeyChange): Promise<ApiKey> {
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const keys = await listApiKeys(tx.query, app.accountId)
    const key = keys.find((row) => row.id === id) ?? keys.find((row) => row.name === id)
    if (key === undefined) throw fault('not-found', { message: `The key "${id}" does not exist.` })
    const { name = key.name, scopes } = change
    if (keys.some((other) => other.id !== key.id && (other.name === name || other.id === name)))
      throw fault('conflict', { message: `The key "${name}" already exists.`, hint: 'Use another name.' })
    if (scopes !== undefined) requireGrantable(actor, { role: toRole(key.role), scopes })
    const limited = scopes === undefined ? key.scopes : scopes.length === 0 ? null : JSON.stringify(scopes)
    await updateApiKey(tx, key.id, { name, scopes: limited })
    await requireAdminLeft(app, tx)
    return toKey({ ...key, name, scopes: limited })
  })
}
