/** The subject of the provider as which a user signs in. */
import { fault } from '@windlass/kit'
import type { App } from '../../app.ts'
import { deleteIdentities, findIdentity, replaceIdentity } from '../../store/access/identities.ts'
import { findUser } from '../../store/access/users.ts'
import type { UserRow } from '../../store/schema/user-schema.ts'
import type { Tx } from '../../store/store.ts'
import type { OidcProvider } from './provider.ts'

/** Returns the provider. Throws `not-found` if the server has none. */
export function requireProvider({ oidc }: App): OidcProvider {
  if (oidc !== undefined) return oidc
  throw fault('not-found', {
    message: 'This server has no OpenID Connect provider.',
    hint: 'Set WINDLASS_SERVER_OIDC_ISSUER and WINDLASS_SERVER_OIDC_CLIENT_ID.',
  })
}

/** Links a user to a subject, or unlinks the user for null. Throws `conflict` if another user has the subject, and `request-invalid` for a service account. */
export async function linkSubject(app: App, tx: Tx, user: Pick<UserRow, 'id' | 'kind'>, subject: string | null): Promise<void> {
  const { issuer } = requireProvider(app).settings
  if (user.kind !== 'user')
    throw fault('request-invalid', { message: 'A service account does not sign in.', hint: 'Create a key for it.' })
  if (subject === null) return deleteIdentities(tx, user.id, issuer)
  const key = { account_id: app.accountId, issuer, subject }
  const known = await findIdentity(tx.query, key)
  if (known?.user_id === user.id) return undefined
  if (known !== undefined) {
    const other = await findUser(tx.query, app.accountId, known.user_id)
    throw fault('conflict', {
      message: `The user "${other?.name ?? known.user_id}" already has the subject "${subject}".`,
      hint: `Unlink that user first: \`windlass set user ${other?.name ?? known.user_id} --unlink-subject\`.`,
    })
  }
  return replaceIdentity(tx, { ...key, user_id: user.id, created_at: app.clock.now() })
}
