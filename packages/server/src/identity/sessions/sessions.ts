/**
 * Sessions of browsers (docs/development/adr/0071, 0083). A session acts for the user or the API key that it was started with, and ends with it. Only hashes
 * of its secret are stored. Lookups are not cached, so that a revoked session ends at once on every server. Not here: how one starts (`sign-in.ts`).
 */
import { randomBytes } from 'node:crypto'
import { defined, fault, parseToken, sha256, tokenMatches } from '@windlass/kit'
import { higherRole, lowerRole, toRole, type InstallationRole, type Session } from '@windlass/protocol'
import type { App } from '../../app.ts'
import { noteDetail } from '../../audit/call.ts'
import {
  deleteSession,
  endSessionsOfKey,
  findSession,
  listSessions,
  replaceSecret,
  replaceUnusedSecret,
  updateSession,
  type OwnedSession,
} from '../../store/access/sessions.ts'
import { endSessionsOf, findUser, listTeamsOfUsers } from '../../store/access/users.ts'
import type { SessionRow } from '../../store/schema/user-schema.ts'
import type { Query } from '../../store/store.ts'
import { manageableBy, nameOf, rightsOf, type Actor, type KeyActor } from '../actor.ts'
import { findKeyActor, findUserActor } from '../keys/key-actor.ts'
import { readScopes } from '../keys/key-scopes.ts'
import { isSecure, requireOwnPage, type BrowserRequest } from '../origin.ts'
import { readSessionCookie, writeSessionCookie } from './session-cookie.ts'

/** Lifetime of a session. Milliseconds. */
export const LIFETIME_MS = 7 * 86_400_000
/** A session that is not used for this long ends. Milliseconds. */
export const IDLE_MS = 12 * 3_600_000
/** Minimum time between two updates of `seen_at`. Milliseconds. */
const SEEN_MS = 60_000
/** Age of a secret after which the page that reads its session gets a new one. Milliseconds. */
const ROTATE_MS = 3_600_000
/**
 * How long the previous secret stays valid in any case, for calls that were sent before the new one arrived. Milliseconds. After that it stays valid only if
 * the new one was never used, because the answer with the new one may have been lost.
 */
const OVERLAP_MS = 60_000

/** Returns true if the session, its key or its user has ended. */
function isEnded(row: OwnedSession, now: number): boolean {
  const { expires_at: end, seen_at: seen, key_expires_at: keyEnd, disabled_at: disabled } = row
  const isOrphan = row.user_id === null ? row.key_name === null : row.owner_name === null
  return now >= end || now - seen >= IDLE_MS || isOrphan || disabled !== null || (keyEnd !== null && now >= keyEnd)
}

/** A session, and whether the call has its current secret or the previous one. */
interface Found {
  readonly row: OwnedSession
  readonly hasCurrent: boolean
}

/** Returns true if the previous secret is no longer valid. */
function isSuperseded({ hash, used_hash: used, rotated_at: rotated }: SessionRow, now: number): boolean {
  return now - rotated >= OVERLAP_MS && used === hash
}

/** Ends a session whose previous secret was used after the current one: two browsers have it, and it is unknown which one may. */
async function endStolen(app: App, row: OwnedSession): Promise<void> {
  if (!(await app.store.write((tx) => deleteSession(tx, row.id)))) return
  const entry = { audit: 'session-ended', session: row.id, of: nameOfSession(row), by: 'superseded-secret' }
  app.log.warn(entry, 'superseded session secret refused')
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
  throw sessionEnded()
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
 * Returns the user or key that the session cookie of a request acts for; `nobody` without a cookie. Throws `unauthenticated` if the session has ended, and
 * `forbidden` if the call does not come from a page of this server.
 */
export async function authenticateSession(app: App, request: BrowserRequest): Promise<Actor> {
  const cookie = readSessionCookie(request.headers, isSecure(app, request.protocol))
  if (cookie === undefined) return { kind: 'nobody' }
  requireOwnPage(app, request)
  const found = await requireSession(app, cookie)
  await noteUse(app, found)
  const { row } = found
  const { query } = app.store
  const actor = await (row.user_id === null ? findKeyActor(query, row.key_id) : findUserActor(query, row.account_id, row.user_id))
  if (actor === undefined) throw sessionEnded()
  return { ...actor, session: row.id }
}

function sessionEnded(): Error {
  return fault('unauthenticated', { message: 'The session has ended.', hint: 'Sign in again.' })
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
  const shown = toSession(row, { current: id, roles: await rolesOfTeams(app.store.query, [row]) })
  const session: Session = { ...shown, may: rightsOf(actor) }
  if (now - row.rotated_at < (hasCurrent ? ROTATE_MS : OVERLAP_MS)) return { session, cookie: undefined }
  const secret = randomBytes(32).toString('base64url')
  const next = { hash: sha256(secret), previous_hash: hasCurrent ? row.hash : row.previous_hash, rotated_at: now }
  const isRotated = await app.store.write((tx) => (hasCurrent ? replaceSecret : replaceUnusedSecret)(tx, row, next))
  const options = { secure, maxAgeSeconds: Math.ceil((row.expires_at - now) / 1000) }
  return { session, cookie: isRotated ? writeSessionCookie(`${id}.${secret}`, options) : undefined }
}

/** Ends the session of the caller. Returns the cookie that removes it from the browser. Throws `not-found` without a session. */
export async function endOwnSession(app: App, actor: Actor, protocol: string): Promise<string> {
  const { session } = requireSessionActor(actor)
  await app.store.write((tx) => deleteSession(tx, session))
  app.log.info({ audit: 'session-ended', session, of: nameOf(actor), by: nameOf(actor) }, 'signed out')
  return writeSessionCookie('', { secure: isSecure(app, protocol), maxAgeSeconds: 0 })
}

/** Lists the live sessions of the caller; those of all users and keys for an admin. */
export async function listLiveSessions(app: App, actor: Actor): Promise<Session[]> {
  const now = app.clock.now()
  const own = actor.kind === 'key' ? actor.session : undefined
  const rows = await listSessions(app.store.query, { accountId: app.accountId, ...manageableBy(actor) })
  const live = rows.filter((row) => !isEnded(row, now))
  const roles = await rolesOfTeams(app.store.query, live)
  return live.map((row) => toSession(row, { current: own, roles }))
}

/** Ends a session. Throws `not-found` if it does not exist or the caller may not manage it. */
export async function endSession(app: App, actor: Actor, id: string): Promise<void> {
  const { keyId, ownerId } = manageableBy(actor)
  const ended = await app.store.write(async (tx) => {
    const row = await findSession(tx.query, id)
    const isOther = (keyId !== undefined && row?.key_id !== keyId) || (ownerId !== undefined && row?.owner_id !== ownerId)
    if (row === undefined || row.account_id !== app.accountId || isOther)
      throw fault('not-found', { message: `The session "${id}" does not exist.` })
    await deleteSession(tx, id)
    return row
  })
  app.log.info({ audit: 'session-ended', session: id, of: nameOfSession(ended), by: nameOf(actor) }, 'session revoked')
}

/** Ends all sessions of the caller, or of the user that an admin names. Returns their number. Throws `forbidden`, `not-found`. */
export async function endSessions(app: App, actor: Actor, userName: string | undefined): Promise<number> {
  const { ownerId, keyId } = manageableBy(actor)
  const user = userName === undefined ? undefined : await findUser(app.store.query, app.accountId, userName)
  if (userName !== undefined && (keyId !== undefined || (ownerId !== undefined && user?.id !== ownerId)))
    throw fault('forbidden', { message: 'Only an admin may end the sessions of other users.' })
  if (userName !== undefined && user === undefined)
    throw fault('not-found', { message: `The user "${userName}" does not exist.` })
  const id = user?.id ?? (keyId === undefined && actor.kind === 'key' ? actor.owner?.id : undefined)
  const own = actor.kind === 'key' ? actor.id : ''
  noteDetail(`sessions of ${user?.name ?? nameOf(actor)}`)
  const ended = await app.store.write((tx) => (id === undefined ? endSessionsOfKey(tx, own) : endSessionsOf(tx, id)))
  app.log.info({ audit: 'sessions-ended', of: user?.name ?? nameOf(actor), by: nameOf(actor), ended }, 'signed out everywhere')
  return ended
}

/** Returns the name of the user, or of the key if it has no owner. */
export function nameOfSession(row: Pick<OwnedSession, 'owner_name' | 'key_name'>): string {
  return row.owner_name ?? row.key_name ?? ''
}

/** User -> highest role of the user's teams. */
type TeamRoles = ReadonlyMap<string, InstallationRole>

/** Reads the roles that the users of sessions have by their teams. */
export async function rolesOfTeams(query: Query, rows: readonly OwnedSession[]): Promise<TeamRoles> {
  const roles = new Map<string, InstallationRole>()
  const owners = new Set(rows.flatMap(({ owner_id: id }) => id ?? []))
  for (const { user_id: id, role } of await listTeamsOfUsers(query, [...owners]))
    roles.set(id, higherRole(roles.get(id) ?? role, role))
  return roles
}

interface SessionView {
  /** Id of the session of the caller. */
  readonly current: string | undefined
  readonly roles: TeamRoles
}

/** Converts a session for the API. */
export function toSession(row: OwnedSession, { current, roles }: SessionView): Session {
  const { key_name: name, owner_id: ownerId, owner_name: ownerName, owner_kind: kind, owner_role: ownerRole } = row
  const key = name === null ? undefined : { id: row.key_id, name, ...defined({ scopes: readScopes(row) }) }
  const user = ownerId === null || ownerName === null || kind === null ? undefined : { id: ownerId, name: ownerName, kind }
  const ownRole = higherRole(ownerRole ?? 'admin', roles.get(ownerId ?? '') ?? 'none')
  return {
    id: row.id,
    role: lowerRole(row.key_role === null ? 'admin' : toRole(row.key_role), ownRole),
    current: row.id === current,
    createdAt: row.created_at,
    seenAt: row.seen_at,
    expiresAt: row.expires_at,
    ...defined({ key, user, client: row.client ?? undefined }),
  }
}
