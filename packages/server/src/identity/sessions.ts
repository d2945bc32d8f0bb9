/**
 * Sessions of browsers (docs/development/adr/0071). A session acts for the API key that it was started with, and ends with it. Only hashes of its secret are
 * stored. Lookups are not cached, so that a revoked session ends at once on every server.
 */
import { randomBytes } from 'node:crypto'
import { defined, fault, newToken, parseToken, sha256, tokenMatches } from '@windlass/kit'
import type { Session, SessionCode, SessionInput } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { findApiKey } from '../store/account/api-keys.ts'
import {
  deleteSession,
  findSession,
  insertSession,
  insertSessionCode,
  listSessions,
  replaceSecret,
  replaceUnusedSecret,
  takeSessionCode,
  updateSession,
  type KeyedSession,
} from '../store/account/sessions.ts'
import type { SessionRow } from '../store/schema.ts'
import type { Actor } from './actor.ts'
import type { Authenticator } from './authenticate.ts'
import type { Within } from '../store/store.ts'
import { readScopes } from './keys.ts'
import { isSecure, requireOwnPage, type BrowserRequest } from './origin.ts'
import { readSessionCookie, writeSessionCookie } from './session-cookie.ts'

/** Lifetime of a session. Milliseconds. */
const LIFETIME_MS = 7 * 86_400_000
/** A session that is not used for this long ends. Milliseconds. */
export const IDLE_MS = 12 * 3_600_000
/** Lifetime of a one-time code. Milliseconds. */
const CODE_MS = 15 * 60_000
/** Minimum time between two updates of `seen_at`. Milliseconds. */
const SEEN_MS = 60_000
/** Age of a secret after which the page that reads its session gets a new one. Milliseconds. */
const ROTATE_MS = 3_600_000
/**
 * How long the previous secret stays valid in any case, for calls that were sent before the new one arrived. Milliseconds. After that it stays valid only if
 * the new one was never used, because the answer with the new one may have been lost.
 */
const OVERLAP_MS = 60_000
const MAX_CLIENT = 200

type KeyActor = Extract<Actor, { kind: 'key' }>

function isEnded({ expires_at: end, seen_at: seen }: SessionRow, now: number): boolean {
  return now >= end || now - seen >= IDLE_MS
}

/** A session, and whether the call has its current secret or the previous one. */
interface Found {
  readonly row: KeyedSession
  readonly hasCurrent: boolean
}

/** Returns true if the previous secret is no longer valid. */
function isSuperseded({ hash, used_hash: used, rotated_at: rotated }: SessionRow, now: number): boolean {
  return now - rotated >= OVERLAP_MS && used === hash
}

/** Ends a session whose previous secret was used after the current one: two browsers have it, and it is unknown which one may. */
async function endStolen(app: App, { id, name }: KeyedSession): Promise<void> {
  if (!(await app.store.write((tx) => deleteSession(tx, id)))) return
  app.log.warn({ audit: 'session-ended', session: id, key: name, by: 'superseded-secret' }, 'superseded session secret refused')
}

/** Finds the live session of a cookie. Throws `unauthenticated` if there is none, and ends a session whose secret was superseded. */
async function requireSession(app: App, cookie: string | undefined): Promise<Found> {
  const token = cookie === undefined ? undefined : parseToken(cookie)
  const row = token === undefined ? undefined : await findSession(app.store.query, token.id)
  if (token !== undefined && row !== undefined && !isEnded(row, app.clock.now())) {
    if (tokenMatches(token.secret, row.hash)) return { row, hasCurrent: true }
    if (row.previous_hash !== null && tokenMatches(token.secret, row.previous_hash)) {
      if (!isSuperseded(row, app.clock.now())) return { row, hasCurrent: false }
      await endStolen(app, row)
    }
  }
  throw fault('unauthenticated', { message: 'The session has ended.', hint: 'Sign in again.' })
}

/** Records that a session was used. The first use of the current secret ends the previous one after its overlap. */
async function noteUse(app: App, { row, hasCurrent }: Found): Promise<void> {
  const now = app.clock.now()
  const isFirst = hasCurrent && row.previous_hash !== null && row.used_hash !== row.hash
  if (now - row.seen_at < SEEN_MS && !isFirst) return
  await app.store.write(async (tx) => {
    await updateSession(tx, row.id, { seen_at: now })
    if (isFirst) await replaceSecret(tx, row, { used_hash: row.hash })
  })
}

/**
 * Returns the key that the session cookie of a request acts for; `nobody` without a cookie. Throws `unauthenticated` if the session has ended, and
 * `forbidden` if the call does not come from a page of this server.
 */
export async function authenticateSession(app: App, request: BrowserRequest): Promise<Actor> {
  const cookie = readSessionCookie(request.headers, isSecure(app, request.protocol))
  if (cookie === undefined) return { kind: 'nobody' }
  requireOwnPage(app, request)
  const found = await requireSession(app, cookie)
  await noteUse(app, found)
  const { row } = found
  const { key_id: id, account_id: accountId, name, role } = row
  return { kind: 'key', id, accountId, name, role, scopes: readScopes(row), session: row.id }
}

/**
 * Creates a one-time code for a session with the rights of the key. `within` runs in the same transaction. Throws `forbidden` in a session, which
 * could otherwise outlive its end.
 */
export async function createSessionCode(app: App, actor: Actor, within?: Within<SessionCode>): Promise<SessionCode> {
  if (actor.kind !== 'key' || actor.session !== undefined)
    throw fault('forbidden', { message: 'Only an API key can create sign-in codes.' })
  const now = app.clock.now()
  const { id, hash, text } = newToken(now)
  const row = { id, account_id: actor.accountId, key_id: actor.id, hash, created_at: now, expires_at: now + CODE_MS }
  const code = { code: text, expiresAt: row.expires_at }
  await app.store.write(async (tx) => {
    await insertSessionCode(tx, row)
    await within?.(tx, code)
  })
  return code
}

interface Started {
  readonly session: Session
  readonly cookie: string
}

interface SignIn {
  readonly input: z.output<typeof SessionInput>
  readonly request: BrowserRequest
  /** Address of the caller, for the log. */
  readonly address: string
}

/** Starts a session with a one-time code or an API key. Throws `unauthenticated`. */
export async function startSession(
  app: App,
  authenticator: Authenticator,
  { input, request, address }: SignIn,
): Promise<Started> {
  const now = app.clock.now()
  const secure = isSecure(app, request.protocol)
  const { id, hash, text } = newToken(now)
  const client = request.headers['user-agent']?.slice(0, MAX_CLIENT) ?? null
  const times = { created_at: now, rotated_at: now, seen_at: now, expires_at: now + LIFETIME_MS }
  const actor = 'key' in input ? await authenticator.authenticate(`Bearer ${input.key}`, now) : undefined
  if (actor !== undefined && actor.kind !== 'key')
    throw fault('unauthenticated', { message: 'Only API keys can start a session.' })
  const row = await app.store.write(async (tx) => {
    const keyId = 'key' in input ? actor?.id : await takeCode(input.code)
    const key = keyId === undefined ? undefined : await findApiKey(tx.query, keyId)
    if (key === undefined) throw fault('unauthenticated', { message: 'The sign-in code was already used or has expired.' })
    const session = {
      ...times,
      id,
      account_id: key.account_id,
      key_id: key.id,
      hash,
      previous_hash: null,
      used_hash: null,
      client,
    }
    await insertSession(tx, session)
    return { ...session, name: key.name, role: key.role, scopes: key.scopes }

    async function takeCode(code: string): Promise<string | undefined> {
      const token = parseToken(code)
      const taken = token && (await takeSessionCode(tx, { id: token.id, hash: sha256(token.secret) }))
      return taken === undefined || now >= taken.expires_at ? undefined : taken.key_id
    }
  })
  app.log.info(
    { audit: 'session-started', session: id, key: row.name, by: actor === undefined ? 'code' : 'key', address },
    'signed in',
  )
  return {
    session: toSession(row, id),
    cookie: writeSessionCookie(text, { secure, maxAgeSeconds: LIFETIME_MS / 1000 }),
  }
}

function requireSessionActor(actor: Actor): KeyActor & { readonly session: string } {
  if (actor.kind === 'key' && actor.session !== undefined) return { ...actor, session: actor.session }
  throw fault('not-found', { message: 'The call was not made with a session.', hint: 'Send the session cookie of a browser.' })
}

/**
 * Returns the session of the caller, and a new cookie if its secret is old, or if the answer with the last one was lost. Throws `not-found` without a
 * session.
 */
export async function showSession(
  app: App,
  actor: Actor,
  request: BrowserRequest,
): Promise<{ readonly session: Session; readonly cookie: string | undefined }> {
  const { session: id } = requireSessionActor(actor)
  const secure = isSecure(app, request.protocol)
  const { row, hasCurrent } = await requireSession(app, readSessionCookie(request.headers, secure))
  const now = app.clock.now()
  const session = toSession(row, id)
  if (now - row.rotated_at < (hasCurrent ? ROTATE_MS : OVERLAP_MS)) return { session, cookie: undefined }
  const secret = randomBytes(32).toString('base64url')
  const next = { hash: sha256(secret), previous_hash: hasCurrent ? row.hash : row.previous_hash, rotated_at: now }
  const isRotated = await app.store.write((tx) => (hasCurrent ? replaceSecret : replaceUnusedSecret)(tx, row, next))
  const options = { secure, maxAgeSeconds: Math.ceil((row.expires_at - now) / 1000) }
  return { session, cookie: isRotated ? writeSessionCookie(`${id}.${secret}`, options) : undefined }
}

/** Ends the session of the caller. Returns the cookie that removes it from the browser. Throws `not-found` without a session. */
export async function endOwnSession(app: App, actor: Actor, protocol: string): Promise<string> {
  const { session, name } = requireSessionActor(actor)
  await app.store.write((tx) => deleteSession(tx, session))
  app.log.info({ audit: 'session-ended', session, key: name, by: name }, 'signed out')
  return writeSessionCookie('', { secure: isSecure(app, protocol), maxAgeSeconds: 0 })
}

/** Returns the filter for the sessions that the actor may see and end: all for an admin, otherwise those of its key. */
function manageableKeys(actor: Actor): { keyId?: string } {
  if (actor.kind !== 'key') throw fault('forbidden')
  return actor.role === 'admin' ? {} : { keyId: actor.id }
}

/** Lists the live sessions of the key; those of all keys for an admin. */
export async function listLiveSessions(app: App, actor: Actor): Promise<Session[]> {
  const now = app.clock.now()
  const own = actor.kind === 'key' ? actor.session : undefined
  const rows = await listSessions(app.store.query, { accountId: app.accountId, ...manageableKeys(actor) })
  return rows.filter((row) => !isEnded(row, now)).map((row) => toSession(row, own))
}

/** Ends a session. Throws `not-found` if it does not exist or belongs to another key and the caller is not an admin. */
export async function endSession(app: App, actor: Actor, id: string): Promise<void> {
  const { keyId } = manageableKeys(actor)
  const ended = await app.store.write(async (tx) => {
    const row = await findSession(tx.query, id)
    if (row === undefined || row.account_id !== app.accountId || (keyId !== undefined && row.key_id !== keyId))
      throw fault('not-found', { message: `The session "${id}" does not exist.` })
    await deleteSession(tx, id)
    return row
  })
  app.log.info(
    { audit: 'session-ended', session: id, key: ended.name, by: actor.kind === 'key' ? actor.name : actor.kind },
    'session revoked',
  )
}

function toSession(row: KeyedSession, current: string | undefined): Session {
  const scopes = readScopes(row)
  return {
    id: row.id,
    key: { id: row.key_id, name: row.name, role: row.role, ...defined({ scopes }) },
    current: row.id === current,
    createdAt: row.created_at,
    seenAt: row.seen_at,
    expiresAt: row.expires_at,
    ...(row.client !== null && { client: row.client }),
  }
}
