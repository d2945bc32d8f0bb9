/** The preferences of users: what they have set for the page. */
import { fault } from '@windlass/kit'
import { MAX_PREFERENCES_BYTES, Preferences, tolerant, type StoredPreferences } from '@windlass/protocol'
import type { App } from '../app.ts'
import type { Actor } from '../identity/actor.ts'
import { lockAccount } from '../store/account/accounts.ts'
import { findPreference, savePreference } from '../store/access/preferences.ts'

/** During an upgrade a newer server can store further fields. */
const Stored = tolerant(Preferences)

/** Returns the id under which the preferences of the caller are stored: the user or service account, or the key if it has no owner. */
function ownerOf(actor: Actor): string {
  if (actor.kind === 'key') return actor.owner?.id ?? actor.id
  throw fault('forbidden', { message: 'Only users and API keys have preferences.' })
}

/** Returns the preferences of the caller. Throws `forbidden` for callers without any, such as agents. */
export async function readPreferences(app: App, actor: Actor): Promise<StoredPreferences> {
  const row = await findPreference(app.store.query, ownerOf(actor))
  return row === undefined
    ? { ...Stored.parse({}), revision: 0 }
    : { ...Stored.parse(JSON.parse(row.data)), revision: row.revision }
}

/** Replaces the preferences of the caller. Throws `conflict` if `ifMatch` names another revision, and `request-invalid` if they are too large. */
export async function putPreferences(
  app: App,
  actor: Actor,
  { preferences, ifMatch }: { readonly preferences: Preferences; readonly ifMatch: string | undefined },
): Promise<StoredPreferences> {
  const data = JSON.stringify(preferences)
  if (Buffer.byteLength(data) > MAX_PREFERENCES_BYTES)
    throw fault('request-invalid', {
      message: `The preferences have more than ${MAX_PREFERENCES_BYTES} bytes.`,
      hint: 'Remove views that you do not need.',
    })
  const owner = ownerOf(actor)
  return app.store.write(async (tx) => {
    // Two browsers of a user can write at once.
    await lockAccount(tx, app.accountId)
    const revision = (await findPreference(tx.query, owner))?.revision ?? 0
    if (ifMatch !== undefined && ifMatch !== '*' && ifMatch.trim() !== `"${revision}"`)
      throw fault('conflict', {
        message: 'The preferences were changed in the meantime.',
        hint: 'Read them again, then repeat the change.',
      })
    const row = { owner_id: owner, account_id: app.accountId, data, revision: revision + 1, updated_at: app.clock.now() }
    await savePreference(tx, row)
    return { ...preferences, revision: row.revision }
  })
}
