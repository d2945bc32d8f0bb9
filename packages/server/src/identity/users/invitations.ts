/** Invitations, with which users set a password, and changes of passwords. */
import { fault, newToken, parseToken, sha256, tokenMatches } from '@windlass/kit'
import type { Invitation } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { noteDetail } from '../../audit/call.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { endSessionsOf, findInvitation, findUser, saveInvitation, takeInvitation, updateUser } from '../../store/access/users.ts'
import type { InvitationRow } from '../../store/schema/user-schema.ts'
import type { Tx, Within } from '../../store/store.ts'
import type { Actor } from '../actor.ts'
import { hashPassword } from '../sessions/password.ts'
import { checkPassword, openSession, requireSamePassword, type SignInFrom, type Started } from '../sessions/sign-in.ts'

/** Lifetime of an invitation. Milliseconds. */
const INVITATION_MS = 7 * 86_400_000

/** An invitation as it is stored, and as its creator gets it once. */
interface NewInvitation {
  readonly row: InvitationRow
  readonly shown: Invitation
}

export function newInvitation(app: App, userId: string): NewInvitation {
  const now = app.clock.now()
  const { id, hash, text } = newToken(now)
  const expiresAt = now + INVITATION_MS
  return { row: { id, user_id: userId, hash, created_at: now, expires_at: expiresAt }, shown: { code: text, expiresAt } }
}

/** Stores an invitation. Earlier ones of the user end. */
export async function saveNewInvitation(tx: Tx, { row }: NewInvitation): Promise<void> {
  await saveInvitation(tx, row)
}

/**
 * Creates another invitation, for a user who has lost the first one or the password. The password stays valid until the invitation is used. `within` runs in the
 * same transaction. Throws `not-found`, and `request-invalid` for a service account.
 */
export async function invite(app: App, name: string, within?: Within<Invitation>): Promise<Invitation> {
  return app.store.write(async (tx) => {
    const user = await findUser(tx.query, app.accountId, name)
    if (user === undefined) throw fault('not-found', { message: `The user "${name}" does not exist.` })
    if (user.kind !== 'user')
      throw fault('request-invalid', { message: 'A service account has no password.', hint: 'Create a key for it.' })
    const invitation = newInvitation(app, user.id)
    await within?.(tx, invitation.shown)
    await saveNewInvitation(tx, invitation)
    noteDetail(`invitation for ${user.name}`)
    return invitation.shown
  })
}

const INVALID = {
  message: 'The invitation was already used or has expired.',
  hint: 'Ask an admin for another one: `windlass invite NAME --again`.',
}

/** Sets the password of the invited user, ends the other sessions and starts one. Throws `unauthenticated`. */
export async function acceptInvitation(
  app: App,
  { code, password }: { code: string; password: string },
  from: SignInFrom,
): Promise<Started> {
  const token = parseToken(code)
  const known = token && (await findInvitation(app.store.query, token.id))
  // Checked before the hash, which costs processor time.
  if (token === undefined || known === undefined || !tokenMatches(token.secret, known.hash))
    throw fault('unauthenticated', INVALID)
  const hash = await hashPassword(password)
  return openSession(app, from, 'invitation', async (tx) => {
    const taken = await takeInvitation(tx, { id: token.id, hash: sha256(token.secret) })
    const user = taken && (await findUser(tx.query, app.accountId, taken.user_id))
    if (taken === undefined || app.clock.now() >= taken.expires_at || user === undefined || user.disabled_at !== null)
      throw fault('unauthenticated', INVALID)
    const now = app.clock.now()
    await updateUser(tx, user.id, { password: hash, signed_in_at: now, updated_at: now })
    await endSessionsOf(tx, user.id)
    noteDetail(`${user.name} has set a password`)
    return { userId: user.id }
  })
}

interface PasswordCall {
  readonly current: string
  readonly password: string
}

/** Changes the own password and ends the other sessions. Throws `unauthenticated` for a wrong password, `forbidden` for a caller without one. */
export async function changePassword(
  app: App,
  passwords: RateLimit,
  actor: Actor,
  { current, password }: PasswordCall,
): Promise<void> {
  if (actor.kind !== 'key' || actor.owner?.kind !== 'user')
    throw fault('forbidden', { message: 'Only users have a password.', hint: 'Sign in as a user.' })
  const { name } = actor.owner
  const user = await passwords.run(name, () => checkPassword(app, name, current))
  const hash = await hashPassword(password)
  await app.store.write(async (tx) => {
    await requireSamePassword(app, tx, user)
    await updateUser(tx, user.id, { password: hash, updated_at: app.clock.now() })
    await endSessionsOf(tx, user.id, actor.session)
  })
}
