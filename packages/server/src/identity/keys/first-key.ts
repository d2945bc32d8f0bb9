/**
 * The creation of the first admin: a user with a key. Until the first call with it, the bootstrap code returns the same key again, because the answer or the
 * file that the caller wrote it to may be lost, and no other key could create another one.
 */
import { fault, newId, sha256, type Token } from '@windlass/kit'
import type { Bootstrap } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { noteCaller } from '../../audit/call.ts'
import { lockAccount } from '../../store/account/accounts.ts'
import { hasCredentials, insertApiKey, listApiKeys } from '../../store/access/api-keys.ts'
import { deleteMeta, putMeta } from '../../store/account/meta.ts'
import { insertUser } from '../../store/access/users.ts'
import type { UserRow } from '../../store/schema/user-schema.ts'
import { closeBootstrap, findUnusedKey, FIRST_KEY, requireBootstrapCode, type UnusedKey } from '../sessions/bootstrap-code.ts'
import { newKey, toCreated, type CreatedKey } from './keys.ts'
import { newUser, userNameOf } from '../users/users.ts'

/** Returns the first admin key, derived from the code and a master key, so that only its hash is stored. */
function deriveKey({ vault }: App, { id, masterKey }: UnusedKey, code: string): Token {
  const secret = vault.derive(masterKey, `first-key/${id}/${sha256(code)}`)
  return { id, text: `${id}.${secret}`, hash: sha256(secret) }
}

/**
 * Creates the first admin with a key while there are no users and keys, or returns it again while it is the only key and was never used. Throws `bootstrap-code`
 * for a wrong code, and `bootstrap-closed` otherwise.
 */
export async function createFirstKey(app: App, { name, code: given }: z.output<typeof Bootstrap>): Promise<CreatedKey> {
  const isSetUp = await hasCredentials(app.store.query, app.accountId)
  if (isSetUp && (await findUnusedKey(app.store.query)) === undefined) throw fault('bootstrap-closed')
  const code = requireBootstrapCode(app, given)
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const [known, ...others] = await listApiKeys(tx.query, app.accountId)
    if (known === undefined && !(await hasCredentials(tx.query, app.accountId))) {
      const unused = { id: newId(app.clock.now()), masterKey: (await app.vault.sealer(tx)).keyId }
      const token = deriveKey(app, unused, code)
      const owner: UserRow = newUser(app, { kind: 'user', name: userNameOf(name), role: 'admin' })
      const row = newKey(app, { name, role: 'admin', owner }, token)
      await insertUser(tx, owner)
      await insertApiKey(tx, row)
      await putMeta(tx, FIRST_KEY, JSON.stringify(unused))
      noteCaller({ kind: 'key', id: row.id, name, owner: owner.name })
      return toCreated({ ...row, owner }, token)
    }
    const unused = await findUnusedKey(tx.query)
    if (known === undefined || unused?.id !== known.id || others.length > 0) throw fault('bootstrap-closed')
    const token = deriveKey(app, unused, code)
    // The key was created with another code, which the settings had before.
    if (token.hash !== known.hash) throw fault('bootstrap-closed')
    return toCreated(known, token)
  })
}

/** Closes the bootstrap if this is the first key. Called before the first call with a key is answered. */
export async function noteKeyUse(app: App, id: string): Promise<void> {
  if ((await findUnusedKey(app.store.query))?.id !== id) return
  await app.store.write((tx) => deleteMeta(tx, FIRST_KEY))
  closeBootstrap(app)
}
