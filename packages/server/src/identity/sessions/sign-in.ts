/** How a session starts: with the password of a user, an API key, or a one-time code. */
import { defined, fault, newToken, parseToken, sha256 } from '@windlass/kit'
import type { Session, SessionCode, SessionInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { noteCaller } from '../../audit/call.ts'
import type { RateLimit } from '../../http/rate-limit.ts'
import { findApiKey } from '../../store/access/api-keys.ts'
import { countSessionCodes, findSession, insertSession, insertSessionCode, takeSessionCode } from '../../store/access/sessions.ts'
import { findUser, updateUser } from '../../store/access/users.ts'
import type { UserRow } from '../../store/schema/user-schema.ts'
import type { Tx, Within } from '../../store/store.ts'
import type { Actor } from '../actor.ts'
import type { Authenticator } from '../authenticate.ts'
import { isSecure, type BrowserRequest } from '../origin.ts'
import { hashPassword, isOutdated, passwordMatches } from './password.ts'
import { LIFETIME_MS, nameOfSession, rolesOfTeams, toSession } from './sessions.ts'
import { writeSessionCookie } from './session-cookie.ts'

/** Lifetime of a one-time code. Milliseconds. */
const CODE_MS = 15 * 60_000
/** Maximum number of unused codes of a key. Viewers can create codes, too, and must not fill the database with them. */
const MAX_CODES = 100
const MAX_CLIENT = 200

/**
 * Creates a one-time code for a session with the rights of the key. `within` runs in the same transaction. Throws `forbidden` in a session, which
 * could otherwise outlive its end, and `rate-limited` if the key has too many unused codes.
 */
export async function createSessionCode(app: App, actor: Actor, within?: Within<SessionCode>): Promise<SessionCode> {
  if (actor.kind !== 'key' || actor.session !== undefined)
    throw fault('forbidden', { message: 'Only an API key can create sign-in codes.' })
  const now = app.clock.now()
  const { id, hash, text } = newToken(now)
  const row = { id, account_id: actor.accountId, key_id: actor.id, hash, created_at: now, expires_at: now + CODE_MS }
  const code = { code: text, expiresAt: row.expires_at }
  await app.store.write(async (tx) => {
    if ((await countSessionCodes(tx.query, actor.id, now)) >= MAX_CODES)
      throw fault('rate-limited', { message: `The key has ${MAX_CODES} unused sign-in codes.`, retryAfter: CODE_MS / 1000 })
    await insertSessionCode(tx, row)
    await within?.(tx, code)
  })
  return code
}

/** A session with the cookie that the browser gets. */
export interface Started {
  readonly session: Session
  readonly cookie: string
}

/** Where a sign-in comes from. */
export interface SignInFrom {
  readonly request: BrowserRequest
  /** Address of the caller, for the log. */
  readonly address: string
}

interface SignIn extends SignInFrom {
  readonly input: z.output<typeof SessionInput>
}

/** Who a session acts for. */
type Subject = { readonly keyId: string } | { readonly userId: string }

/** The parts that check credentials. `passwords` limits the wrong passwords for one name, whether a user with that name exists or not. */
export interface SignInChecks {
  readonly authenticator: Authenticator
  readonly passwords: RateLimit
}

/** Starts a session. Throws `unauthenticated`, and `rate-limited` after too many wrong passwords for the name. */
export async function startSession(app: App, checks: SignInChecks, { input, ...from }: SignIn): Promise<Started> {
  if ('code' in input) return openSession(app, from, 'code', async (tx) => ({ keyId: await takeCode(app, tx, input.code) }))
  if ('key' in input) {
    const actor = await checks.authenticator.authenticate(`Bearer ${input.key}`, app.clock.now())
    if (actor.kind !== 'key') throw fault('unauthenticated', { message: 'Only API keys can start a session.' })
    return openSession(app, from, 'key', async () => ({ keyId: actor.id }))
  }
  const name = input.name.trim().toLowerCase()
  noteCaller({ kind: 'nobody', id: '', name })
  const user = await checks.passwords.run(name, () => checkPassword(app, name, input.password))
  const renewed = isOutdated(user.password) ? await hashPassword(input.password) : user.password
  return openSession(app, from, 'password', async (tx) => {
    await requireSamePassword(app, tx, user)
    await updateUser(tx, user.id, { signed_in_at: app.clock.now(), password: renewed })
    return { userId: user.id }
  })
}

/** A user with a password. */
export type UserWithPassword = UserRow & { readonly password: string }

/** Returns the user with this name and password. Throws `unauthenticated`, after the same time and with the same message whatever is wrong. */
export async function checkPassword(app: App, name: string, password: string): Promise<UserWithPassword> {
  const user = await findUser(app.store.query, app.accountId, name)
  const isRight = await passwordMatches(password, user?.password)
  if (isRight && user !== undefined && user.password !== null && user.disabled_at === null)
    return { ...user, password: user.password }
  throw fault('unauthenticated', {
    message: 'The name or the password is wrong.',
    hint: 'Ask an admin for a new invitation if you do not know your password.',
  })
}

/** Throws `unauthenticated` if the password was changed or the user disabled after the check. */
export async function requireSamePassword(app: App, tx: Tx, user: UserWithPassword): Promise<void> {
  const now = await findUser(tx.query, app.accountId, user.id)
  if (now?.password === user.password && now.disabled_at === null) return
  throw fault('unauthenticated', { message: 'The password was changed in the meantime.', hint: 'Sign in with the new password.' })
}

async function takeCode(app: App, tx: Tx, code: string): Promise<string> {
  const token = parseToken(code)
  const taken = token && (await takeSessionCode(tx, { id: token.id, hash: sha256(token.secret) }))
  const isValid = taken !== undefined && app.clock.now() < taken.expires_at
  if (isValid && (await findApiKey(tx.query, taken.key_id)) !== undefined) return taken.key_id
  throw fault('unauthenticated', { message: 'The sign-in code was already used or has expired.' })
}

/** Starts the session of the subject that `subject` returns, in one transaction with it. */
export async function openSession(
  app: App,
  { request, address }: SignInFrom,
  by: string,
  subject: (tx: Tx) => Promise<Subject>,
): Promise<Started> {
  const now = app.clock.now()
  const secure = isSecure(app, request.protocol)
  const { id, hash, text } = newToken(now)
  const client = request.headers['user-agent']?.slice(0, MAX_CLIENT) ?? null
  const times = { created_at: now, rotated_at: now, seen_at: now, expires_at: now + LIFETIME_MS }
  const row = await app.store.write(async (tx) => {
    const of = await subject(tx)
    const whose = 'keyId' in of ? { key_id: of.keyId, user_id: null } : { key_id: '', user_id: of.userId }
    await insertSession(tx, {
      ...times,
      ...whose,
      id,
      account_id: app.accountId,
      hash,
      previous_hash: null,
      used_hash: null,
      client,
    })
    const started = await findSession(tx.query, id)
    if (started === undefined) throw new Error(`the session ${id} was not stored`)
    // The owner of a key signs in with a code of it, as the first admin does with the printed link.
    if ('keyId' in of && started.owner_id !== null) await updateUser(tx, started.owner_id, { signed_in_at: now })
    noteCaller({
      kind: 'keyId' in of ? 'key' : 'user',
      id: 'keyId' in of ? of.keyId : of.userId,
      name: started.key_name ?? started.owner_name ?? '',
      ...defined({ owner: started.owner_name ?? undefined }),
    })
    return started
  })
  app.log.info({ audit: 'session-started', session: id, of: nameOfSession(row), by, address }, 'signed in')
  return {
    session: toSession(row, { current: id, roles: await rolesOfTeams(app.store.query, [row]) }),
    cookie: writeSessionCookie(text, { secure, maxAgeSeconds: LIFETIME_MS / 1000 }),
  }
}
