/** A master key and the keys that are derived from it, one per use (docs/development/adr/0061). */
import { createHmac, createSecretKey, hkdfSync, randomBytes, type KeyObject } from 'node:crypto'
import { fault, sha256 } from '@windlass/kit'

/** Keys that share an id: one for sealing, one for deriving. */
export interface SealingKey {
  /** 16 hex digits. Part of each sealed text; does not reveal the key. */
  readonly id: string
  /** Wraps the data keys of sealed texts. */
  readonly wrap: Buffer
  /** Derives credentials. A key object, because an HMAC with bytes creates one for each call. */
  readonly sign: KeyObject
}

export interface MasterKey extends SealingKey {
  /** Its line in the ring. */
  readonly text: string
  /** The first version used the master key itself for everything, with another id. Its sealed texts and credentials remain valid. */
  readonly first: SealingKey
}

const KEY_BYTES = 32
const ID_BYTES = 8
const KEY_HINT = 'Create one with `openssl rand -base64 32`.'

/** Returns a new random key in base64. */
export function newMasterKey(): string {
  return randomBytes(KEY_BYTES).toString('base64')
}

/**
 * Parses a ring: base64 of 32 bytes each, separated by white space or commas, the newest last. Ignores duplicates. Throws `config-invalid` for
 * anything else, and for an empty ring.
 */
export function readRing(text: string): MasterKey[] {
  const lines = text.split(/[\s,]+/).filter((line) => line !== '')
  if (lines.length === 0) throw fault('config-invalid', { message: 'The list of master keys is empty.', hint: KEY_HINT })
  return [...new Map(lines.map(toMasterKey).map((key) => [key.id, key])).values()]
}

function toMasterKey(text: string, index: number): MasterKey {
  const master = Buffer.from(text, 'base64')
  if (master.length !== KEY_BYTES)
    throw fault('config-invalid', {
      message: `Master key ${index + 1} is not 32 bytes in base64.`,
      hint: KEY_HINT,
    })
  const derived = (use: string, bytes: number): Buffer =>
    Buffer.from(hkdfSync('sha256', master, Buffer.alloc(0), `windlass master key: ${use}`, bytes))
  const firstId = sha256(Buffer.concat([Buffer.from('windlass master key'), master])).slice(0, 2 * ID_BYTES)
  return {
    text,
    id: derived('id', ID_BYTES).toString('hex'),
    wrap: derived('wrap', KEY_BYTES),
    sign: createSecretKey(derived('sign', KEY_BYTES)),
    first: { id: firstId, wrap: master, sign: createSecretKey(master) },
  }
}

/** Derives a secret of 43 characters. The same purpose gives the same secret, so it does not have to be stored. */
export function deriveSecret({ sign }: SealingKey, purpose: string): string {
  return createHmac('sha256', sign).update(purpose).digest('base64url')
}
