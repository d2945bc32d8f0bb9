/**
 * Encryption of Git tokens at rest. The key is derived from the token of the runtime and a stored random text, so a copy of the Secrets of users is of no use without
 * both. AES-256-GCM with a random nonce for each record. A record names its key, and is bound to the name of its Secret.
 */
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'

/** Version of the form of records: `wl1.<id of the key>.<nonce>.<text and tag>`. */
const VERSION = 'wl1'
const NONCE_BYTES = 12
const TAG_BYTES = 16
const CIPHER = 'aes-256-gcm'

export interface StoreKey {
  /** Names the key and does not tell anything about it. */
  readonly id: string
  /** Encrypts a text for the record of this name. */
  seal(name: string, text: string): string
  /** Returns the text of a record. Undefined if another key has encrypted it, if it was changed, or if it is one of another name. */
  open(name: string, sealed: string): string | undefined
}

/** Derives the key of a runtime token (HKDF-SHA256, RFC 5869). `iv` is the stored random text. */
export function deriveStoreKey(runtimeToken: string, iv: string): StoreKey {
  const derive = (purpose: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync('sha256', runtimeToken, iv, `windlass app-proxy ${purpose}`, bytes))
  const key = derive('git tokens 1', 32)
  const id = derive('id of the key 1', 9).toString('base64url')
  const headerOf = (name: string): Buffer => Buffer.from(`${VERSION}.${id}.${name}`)
  return {
    id,
    seal(name, text) {
      const nonce = randomBytes(NONCE_BYTES)
      const cipher = createCipheriv(CIPHER, key, nonce).setAAD(headerOf(name))
      const sealed = Buffer.concat([cipher.update(text, 'utf8'), cipher.final(), cipher.getAuthTag()])
      return [VERSION, id, nonce.toString('base64url'), sealed.toString('base64url')].join('.')
    },
    open(name, record) {
      const [version, keyId, nonceText = '', sealedText = '', ...more] = record.split('.')
      const [nonce, sealed] = [Buffer.from(nonceText, 'base64url'), Buffer.from(sealedText, 'base64url')]
      if (version !== VERSION || keyId !== id || more.length > 0) return undefined
      if (nonce.length !== NONCE_BYTES || sealed.length < TAG_BYTES) return undefined
      const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      decipher.setAAD(headerOf(name)).setAuthTag(sealed.subarray(-TAG_BYTES))
      try {
        return decipher.update(sealed.subarray(0, -TAG_BYTES), undefined, 'utf8') + decipher.final('utf8')
      } catch {
        return undefined
      }
    },
  }
}

export interface KeyRing {
  /** Encrypts with the current key. */
  seal(name: string, text: string): string
  open(name: string, sealed: string): string | undefined
  /** Returns true if the current key has encrypted a record. */
  isCurrent(sealed: string): boolean
  /** Makes a key the current one. Those before it only decrypt. Returns false if it is the current one already. */
  rotate(key: StoreKey): boolean
}

/** Returns a ring. `older` only decrypt. */
export function openKeyRing(first: StoreKey, older: readonly StoreKey[] = []): KeyRing {
  let current = first
  const keys = new Map([...older, first].map((key) => [key.id, key]))
  return {
    seal: (name, text) => current.seal(name, text),
    open: (name, sealed) => keys.get(sealed.split('.')[1] ?? '')?.open(name, sealed),
    isCurrent: (sealed) => sealed.split('.')[1] === current.id,
    rotate(key) {
      if (key.id === current.id) return false
      keys.set(key.id, key)
      current = key
      return true
    },
  }
}
