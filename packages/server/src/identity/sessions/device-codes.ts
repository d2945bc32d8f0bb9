/**
 * The login of a command line through a browser (the device flow of RFC 8628, without OAuth). The command gets a secret and a short code, and polls with the
 * secret. A user who has signed in confirms the short code. The next poll returns an API key of the user.
 */
import { createHmac, randomInt } from 'node:crypto'
import { fault, newId, newToken, parseToken, sha256, tokenMatches, type Token } from '@windlass/kit'
import type { DeviceAnswer, DeviceCode, DeviceRequest } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../../app.ts'
import { noteCaller, noteDetail } from '../../audit/call.ts'
import { findApiKey, insertApiKey } from '../../store/access/api-keys.ts'
import {
  countDeviceCodes,
  deleteOldDeviceCodes,
  findDeviceCode,
  insertDeviceCode,
  lockDeviceCode,
  lockUserCode,
  updateDeviceCode,
} from '../../store/access/device-codes.ts'
import { findUser } from '../../store/access/users.ts'
import type { DeviceCodeRow, UserRow } from '../../store/schema/user-schema.ts'
import type { Query, Tx } from '../../store/store.ts'
import type { Actor } from '../actor.ts'
import { newKey, toCreated } from '../keys/keys.ts'

/** Lifetime of a code. Milliseconds. */
const CODE_MS = 10 * 60_000
/** Lifetime of the key of a login. Milliseconds. */
const KEY_MS = 30 * 86_400_000
const INTERVAL_MS = 2_000
/** Codes at once, because anyone can ask for one: of all addresses, and of one. */
const MAX_CODES = 1_000
const MAX_CODES_OF_ADDRESS = 50
/** Consonants, so that a code spells no word, without those that look like others. */
const LETTERS = 'BCDFGHJKLMNPQRSTVWXZ'
const CODE_LENGTH = 8

export interface DeviceClient {
  /** What the command says about itself. */
  readonly client: string
  readonly address: string
}

/** Starts a login. Throws `rate-limited` if too many logins wait. */
export async function startDeviceLogin(app: App, { client, address }: DeviceClient): Promise<DeviceCode> {
  const now = app.clock.now()
  const { id, hash, text } = newToken(now)
  const userCode = Array.from({ length: CODE_LENGTH }, () => LETTERS[randomInt(LETTERS.length)]).join('')
  const times = { created_at: now, expires_at: now + CODE_MS }
  const row = { ...times, id, account_id: app.accountId, hash, user_code: userCode, client, address } as const
  await app.store.write(async (tx) => {
    await deleteOldDeviceCodes(tx, now)
    const isFull =
      (await countDeviceCodes(tx.query, app.accountId)) >= MAX_CODES ||
      (await countDeviceCodes(tx.query, app.accountId, address)) >= MAX_CODES_OF_ADDRESS
    if (isFull) throw fault('rate-limited', { message: 'Too many logins wait for their confirmation.', retryAfter: 60 })
    await insertDeviceCode(tx, { ...row, state: 'pending', user_id: null, key_id: null })
  })
  const url = `${app.advertisedUrl()}/device`
  return { deviceCode: text, userCode: withHyphen(userCode), url, expiresAt: row.expires_at, intervalMs: INTERVAL_MS }
}

function withHyphen(code: string): string {
  return `${code.slice(0, CODE_LENGTH / 2)}-${code.slice(CODE_LENGTH / 2)}`
}

const EXPIRED = { message: 'The login has expired.', hint: 'Start another one with `windlass login`.' }

/**
 * Answers the poll of a command. The first poll after the approval creates the key; later ones return the same key, because an answer may be lost. Throws
 * `unauthenticated` for an unknown or expired code, and if the user was disabled or the key deleted.
 */
export async function pollDeviceLogin(app: App, deviceCode: string): Promise<z.output<typeof DeviceAnswer>> {
  const token = parseToken(deviceCode)
  const row = token && (await findDeviceCode(app.store.query, token.id))
  if (token === undefined || row === undefined || !tokenMatches(token.secret, row.hash) || app.clock.now() >= row.expires_at)
    throw fault('unauthenticated', EXPIRED)
  if (row.state !== 'approved') return { state: row.state }
  const key =
    row.key_id === null ? await app.store.write((tx) => createLoginKey(app, tx, { id: row.id, secret: token.secret })) : undefined
  return { state: 'approved', key: key ?? (await findLoginKey(app, row, token.secret)) }
}

type LoginKey = NonNullable<z.output<typeof DeviceAnswer>['key']>

/** Returns the token of a key. Its secret is derived from the one of the command, so that the store has only hashes. */
function tokenOf(keyId: string, secret: string): Token {
  const derived = createHmac('sha256', secret).update(`device-key/${keyId}`).digest('base64url')
  return { id: keyId, text: `${keyId}.${derived}`, hash: sha256(derived) }
}

/** Creates the key of a login. Returns undefined if another poll has done so. */
async function createLoginKey(app: App, tx: Tx, { id, secret }: { id: string; secret: string }): Promise<LoginKey | undefined> {
  const row = await lockDeviceCode(tx, id)
  const owner = await findOwner(app, tx.query, row)
  if (row === undefined || row.key_id !== null) return undefined
  const token = tokenOf(newId(app.clock.now()), secret)
  const name = `login/${owner.name}/${row.client.replaceAll(/[^A-Za-z0-9._@-]+/g, '-').slice(0, 30)}-${token.id.slice(-6)}`
  // The key follows the roles of its owner, whatever they become.
  const key = newKey(app, { name, role: 'admin', owner, expiresAt: app.clock.now() + KEY_MS }, token)
  await insertApiKey(tx, key)
  await updateDeviceCode(tx, id, { key_id: key.id })
  noteCaller({ kind: 'key', id: key.id, name: key.name, owner: owner.name })
  noteDetail(`login of ${owner.name} on ${row.client}`)
  return toCreated({ ...key, owner }, token)
}

async function findOwner(app: App, query: Query, row: DeviceCodeRow | undefined): Promise<UserRow> {
  const owner = row?.user_id === null || row === undefined ? undefined : await findUser(query, app.accountId, row.user_id)
  if (owner === undefined || owner.disabled_at !== null) throw fault('unauthenticated', EXPIRED)
  return owner
}

async function findLoginKey(app: App, { id }: DeviceCodeRow, secret: string): Promise<LoginKey> {
  const { query } = app.store
  const row = await findDeviceCode(query, id)
  const owner = await findOwner(app, query, row)
  const key = row?.key_id === null || row === undefined ? undefined : await findApiKey(query, row.key_id)
  if (key === undefined) throw fault('unauthenticated', EXPIRED)
  return toCreated({ ...key, owner }, tokenOf(key.id, secret))
}

/** Returns the login with this short code. Throws `not-found` if there is none or it has expired. */
async function requireLogin(app: App, tx: Tx, text: string): Promise<DeviceCodeRow> {
  const row = await lockUserCode(tx, app.accountId, text.toUpperCase().replaceAll(/[^A-Z]/g, ''))
  if (row !== undefined && app.clock.now() < row.expires_at) return row
  throw fault('not-found', {
    message: 'No login waits with this code.',
    hint: 'Check the code, or start another login with `windlass login`.',
  })
}

/** Returns what the login with this short code is about, for the page that confirms it. */
export async function showDeviceLogin(app: App, code: string): Promise<DeviceRequest> {
  return app.store.write(async (tx) => toRequest(await requireLogin(app, tx, code)))
}

/** Returns the id of the user that a caller with all rights of the user acts for. Throws `forbidden`. */
function requireWholeUser(actor: Actor): string {
  if (actor.kind === 'key' && actor.owner?.kind === 'user' && (actor.isUser === true || actor.isFull === true))
    return actor.owner.id
  throw fault('forbidden', {
    message: 'Only a user with all of their rights can confirm a login.',
    hint: 'Sign in with your name and password.',
  })
}

/**
 * Approves or denies the login with this short code. The same decision again changes nothing. Throws `conflict` for another decision, and `forbidden` unless the
 * caller is a user with all of their rights.
 */
export async function decideDeviceLogin(
  app: App,
  actor: Actor,
  { code, isApproved }: { code: string; isApproved: boolean },
): Promise<DeviceRequest> {
  const state = isApproved ? 'approved' : 'denied'
  return app.store.write(async (tx) => {
    const row = await requireLogin(app, tx, code)
    const userId = requireWholeUser(actor)
    if (row.state === state && row.user_id === userId) return toRequest(row)
    if (row.state !== 'pending')
      throw fault('conflict', { message: 'This login was already decided.', hint: 'Start another one with `windlass login`.' })
    await updateDeviceCode(tx, row.id, { state, user_id: userId })
    noteDetail(`${state} the login on ${row.client} from ${row.address}`)
    return toRequest({ ...row, state })
  })
}

function toRequest({
  user_code: code,
  client,
  address,
  state,
  created_at: createdAt,
  expires_at: expiresAt,
}: DeviceCodeRow): DeviceRequest {
  return { userCode: withHyphen(code), client, address, state, createdAt, expiresAt }
}
