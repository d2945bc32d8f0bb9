/**
 * Envelope encryption of secrets in the database. Each text is encrypted with its own random key, which a key of the ring wraps. Not here: which
 * fields are secret (the modules that own them), masking of logs (the engine), key rotation (`rotation.ts`).
 */
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto'
import { fault } from '@windlass/kit'
import { findMeta, insertMeta, replaceMeta, shareMeta } from '../store/account/meta.ts'
import type { Store, Tx } from '../store/store.ts'
import { deriveSecret, type SealingKey } from './master-key.ts'
import type { Place } from './places.ts'
import { openRing, type Ring, type RingOptions } from './ring.ts'

export interface Sealer {
  /** Id of the key that it seals with. */
  readonly keyId: string
  /** Encrypts a text. The place is authenticated: a sealed text cannot be opened at another place. */
  seal(place: Place, text: string): string
  /** Returns a sealed text of this place under the current key: unchanged, or rewrapped. Throws the same faults as `open`. */
  keep(place: Place, sealed: string): string
}

export interface Vault {
  readonly ring: Ring
  /**
   * Returns the sealer for this transaction. The current key cannot change before the commit, so no text is written under an older key after a
   * rotation. Throws `unavailable` if this server does not have the current key.
   */
  sealer(tx: Tx): Promise<Sealer>
  /** Decrypts a text. Throws `internal` if it was changed or moved, or if its key is not in the ring. */
  open(place: Place, sealed: string): string
  /** Derives a secret from a key of the ring; see `deriveSecret`. Throws `internal` if the key is not in the ring. */
  derive(keyId: string, purpose: string): string
}

const VERSION = 's1'
const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
const WRAPPED_BYTES = IV_BYTES + KEY_BYTES + TAG_BYTES
const KEY_HINT = 'Add that key again before the newest one, or restore master.key.'
/** Key of `meta`: id of the current master key. */
export const CURRENT_KEY = 'master-key'

/** Opens the vault; creates `<dataDir>/master.key` on first use. Throws `config-invalid` if the ring does not have the current key of the database. */
export async function openVault(store: Store, options: RingOptions): Promise<Vault> {
  const known = await findMeta(store.query, CURRENT_KEY)
  const ring = openRing(options, known === undefined)
  const newest = ring.keys().at(-1)?.id ?? ''
  const current = known ?? (await store.write((tx) => insertMeta(tx, CURRENT_KEY, newest)))
  if (ring.find(current) === undefined) {
    throw fault('config-invalid', {
      message: 'The master key does not belong to this database.',
      hint: 'Set WINDLASS_SERVER_MASTER_KEY to the key that the database was created with, or restore master.key.',
    })
  }
  // Databases of the first version switch to derived keys here.
  const first = ring.keys().find((key) => key.first.id === current)
  if (first !== undefined) await store.write((tx) => replaceMeta(tx, CURRENT_KEY, { from: current, to: first.id }))
  return ringVault(ring)
}

function ringVault(ring: Ring): Vault {
  return {
    ring,
    async sealer(tx) {
      const key = ring.find((await shareMeta(tx, CURRENT_KEY)) ?? '')
      if (key === undefined)
        throw fault('unavailable', {
          message: 'This server has not loaded the current master key yet.',
          hint: 'Give every server the same master keys. Servers reload a mounted file automatically.',
        })
      return {
        keyId: key.id,
        seal: (place, text) => seal(key, place, text),
        keep: (place, sealed) => (keyIdOf(sealed) === key.id ? sealed : wrapAgain(ring, key, { place, sealed })),
      }
    },
    open(place, sealed) {
      const { dataKey, body } = unwrap(ring, place, sealed)
      return guarded(() => decrypt(dataKey, place.path, body)).toString('utf8')
    },
    derive(keyId, purpose) {
      const key = ring.find(keyId)
      if (key === undefined)
        throw fault('internal', {
          message: `A credential was derived from master key ${keyId}, which this server does not have.`,
          hint: KEY_HINT,
        })
      return deriveSecret(key, purpose)
    },
  }
}

/** Returns the id of the key that a text was sealed with; undefined for text that is not sealed. */
export function keyIdOf(sealed: string): string | undefined {
  const [version, keyId, body] = sealed.split('.')
  return version === VERSION && body !== undefined ? keyId : undefined
}

function seal(key: SealingKey, place: Place, text: string): string {
  const dataKey = randomBytes(KEY_BYTES)
  return join(key, place, { dataKey, body: encrypt(dataKey, place.path, Buffer.from(text)) })
}

interface Opened {
  readonly dataKey: Buffer
  /** The text encrypted with the data key. */
  readonly body: Buffer
}

function join(key: SealingKey, place: Place, { dataKey, body }: Opened): string {
  const wrapped = encrypt(key.wrap, `${key.id}/${place.path}`, dataKey)
  return `${VERSION}.${key.id}.${Buffer.concat([wrapped, body]).toString('base64url')}`
}

function unwrap(ring: Ring, place: Place, sealed: string): Opened {
  const id = keyIdOf(sealed) ?? ''
  const key = ring.find(id)
  if (key === undefined)
    throw fault('internal', {
      message: `A stored secret is sealed under master key ${id}, which this server does not have.`,
      hint: KEY_HINT,
    })
  const bytes = Buffer.from(sealed.split('.')[2] ?? '', 'base64url')
  const dataKey = guarded(() => decrypt(key.wrap, `${key.id}/${place.path}`, bytes.subarray(0, WRAPPED_BYTES)))
  return { dataKey, body: bytes.subarray(WRAPPED_BYTES) }
}

/** Decrypts the text too, so that damage is found now and not after the older key is removed. */
function wrapAgain(ring: Ring, key: SealingKey, { place, sealed }: { place: Place; sealed: string }): string {
  const opened = unwrap(ring, place, sealed)
  guarded(() => decrypt(opened.dataKey, place.path, opened.body))
  return join(key, place, opened)
}

function guarded<T>(work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw fault('internal', { message: 'A stored secret was damaged or moved.' }, error)
  }
}

/** Returns initialization vector, ciphertext and tag. */
function encrypt(key: Buffer, place: string, plain: Buffer): Buffer {
  const iv = randomBytes(IV_BYTES)
  const cipher = createCipheriv('aes-256-gcm', key, iv).setAAD(Buffer.from(place))
  return Buffer.concat([iv, cipher.update(plain), cipher.final(), cipher.getAuthTag()])
}

function decrypt(key: Buffer, place: string, bytes: Buffer): Buffer {
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, IV_BYTES))
  decipher.setAAD(Buffer.from(place)).setAuthTag(bytes.subarray(-TAG_BYTES))
  return Buffer.concat([decipher.update(bytes.subarray(IV_BYTES, -TAG_BYTES)), decipher.final()])
}
