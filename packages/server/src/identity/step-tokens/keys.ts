/**
 * The keys that sign the ID tokens of steps. A key is public for a day before it signs, because relying parties cache the set of keys, and for a day after its
 * successor signs, which is longer than any token is valid.
 */
import { newId } from '@windlass/kit'
import { exportJWK, generateKeyPair, importJWK, type CryptoKey, type JWK } from 'jose'
import type { App } from '../../app.ts'
import { signingKeyPlace } from '../../secrets/places.ts'
import { lockAccount } from '../../store/account/accounts.ts'
import { deleteSigningKeys, insertSigningKey, listSigningKeys } from '../../store/account/signing-keys.ts'
import type { SigningKeyRow } from '../../store/schema/user-schema.ts'

/** RS256, because some clouds accept no other algorithm. */
export const ALGORITHM = 'RS256'
const DAY_MS = 86_400_000
/** How long a key signs. Milliseconds. */
const SIGNS_MS = 30 * DAY_MS
/** How long a key is public before it signs, and after its successor signs. Milliseconds. */
const OVERLAP_MS = DAY_MS

type Times = Pick<SigningKeyRow, 'signs_from'>

/** Returns from when a new key must sign; undefined if none is needed yet. Keys are in the order in which they sign. */
export function nextSignsFrom(keys: readonly Times[], now: number): number | undefined {
  const last = keys.at(-1)
  if (last === undefined) return now
  const due = last.signs_from + SIGNS_MS
  return now >= due - OVERLAP_MS ? Math.max(due, now + OVERLAP_MS) : undefined
}

/** Returns the keys that no valid token can need any more. */
export function outdatedKeys<K extends Times>(keys: readonly K[], now: number): K[] {
  return keys.filter((_, index) => {
    const successor = keys[index + 1]
    return successor !== undefined && now >= successor.signs_from + OVERLAP_MS
  })
}

/** Returns the key that signs: the newest one whose time has come. */
export function signingKeyAt<K extends Times>(keys: readonly K[], now: number): K | undefined {
  return keys.findLast(({ signs_from: from }) => from <= now)
}

/** Keys that this process creates now, so that concurrent calls create one pair. */
const creations = new WeakMap<App, Promise<readonly SigningKeyRow[]>>()

/** Returns all keys. Creates the first one, and the next one when it is due, once for all servers. */
async function ensureKeys(app: App): Promise<readonly SigningKeyRow[]> {
  const keys = await listSigningKeys(app.store.query, app.accountId)
  if (nextSignsFrom(keys, app.clock.now()) === undefined) return keys
  const creation = creations.get(app) ?? createKey(app).finally(() => creations.delete(app))
  creations.set(app, creation)
  return creation
}

async function createKey(app: App): Promise<readonly SigningKeyRow[]> {
  const now = app.clock.now()
  const pair = await generateKeyPair(ALGORITHM, { extractable: true, modulusLength: 2048 })
  const [publicKey, privateKey] = [await exportJWK(pair.publicKey), await exportJWK(pair.privateKey)]
  return app.store.write(async (tx) => {
    await lockAccount(tx, app.accountId)
    const current = await listSigningKeys(tx.query, app.accountId)
    const from = nextSignsFrom(current, now)
    // Another server has created it in the meantime.
    if (from === undefined) return current
    const owned = { id: newId(now), account_id: app.accountId }
    const sealer = await app.vault.sealer(tx)
    const sealed = sealer.seal(signingKeyPlace(owned), JSON.stringify(privateKey))
    const key = { ...owned, public_key: JSON.stringify(publicKey), private_key: sealed, signs_from: from, created_at: now }
    await insertSigningKey(tx, key)
    return [...current, key]
  })
}

/** Creates the next key when it is due and deletes outdated ones. Does nothing on a server whose tokens were never used. */
export async function rotateSigningKeys(app: App): Promise<void> {
  if ((await listSigningKeys(app.store.query, app.accountId)).length === 0) return
  const outdated = outdatedKeys(await ensureKeys(app), app.clock.now()).map(({ id }) => id)
  if (outdated.length > 0) await app.store.write((tx) => deleteSigningKeys(tx, outdated))
}

/** Returns the public keys as a JSON Web Key Set (RFC 7517). */
export async function publicKeys(app: App): Promise<{ readonly keys: readonly JWK[] }> {
  const keys = await ensureKeys(app)
  return { keys: keys.map(({ id, public_key: key }) => ({ ...(JSON.parse(key) as JWK), kid: id, alg: ALGORITHM, use: 'sig' })) }
}

export interface SigningKey {
  readonly id: string
  readonly key: CryptoKey
}

/** Returns the key that signs now. */
export async function currentSigningKey(app: App): Promise<SigningKey> {
  const row = signingKeyAt(await ensureKeys(app), app.clock.now())
  if (row === undefined) throw new Error('there is no key to sign with')
  const jwk = JSON.parse(app.vault.open(signingKeyPlace(row), row.private_key)) as JWK
  return { id: row.id, key: (await importJWK(jwk, ALGORITHM)) as CryptoKey }
}
