/**
 * Envelope encryption of what must not be readable in the database: each record is sealed with a random key of its own, which the master
 * key wraps. Not here: which fields are secret (the rooms that own them), masking of logs (the engine).
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fault, sha256 } from '@windlass/kit'
import { findMeta, insertMeta } from '../store/meta.ts'
import type { Store } from '../store/store.ts'
import { writePrivateFile } from './private-file.ts'

export interface Vault {
  /** Encrypts a text. `place` (account and record) is authenticated: a sealed text moved elsewhere does not open. */
  seal(place: string, text: string): string
  /** The text again. Throws `internal` when it was changed, moved, or sealed under another master key. */
  open(place: string, sealed: string): string
  /** A secret made from the master key: the same purpose gives the same 43 characters, so that it need not be stored. */
  derive(purpose: string): string
}

const KEY_BYTES = 32
const IV_BYTES = 12
const TAG_BYTES = 16
const WRAPPED_BYTES = IV_BYTES + KEY_BYTES + TAG_BYTES
const META_KEY = 'master-key'

export interface VaultOptions {
  readonly dataDir: string
  /** Base64 of 32 bytes. */
  readonly masterKey?: string | undefined
}

/** Opens the vault; makes `<dataDir>/master.key` on first use. Throws `config-invalid` when the key is not the one of this database. */
export async function openVault(store: Store, options: VaultOptions): Promise<Vault> {
  const known = await findMeta(store.query, META_KEY)
  const master =
    options.masterKey === undefined ? readKeyFile(options.dataDir, known === undefined) : decodeKey(options.masterKey)
  const keyId = sha256(Buffer.concat([Buffer.from('windlass master key'), master])).slice(0, 16)
  const stored = known ?? (await store.write((tx) => insertMeta(tx, META_KEY, keyId)))
  if (stored !== keyId) {
    throw fault('config-invalid', {
      message: 'The master key does not belong to this database.',
      hint: 'Set WINDLASS_SERVER_MASTER_KEY to the key the database was made with, or restore master.key.',
    })
  }
  return keyVault(master, keyId)
}

function keyVault(master: Buffer, keyId: string): Vault {
  return {
    seal(place, text) {
      const key = randomBytes(KEY_BYTES)
      const wrapped = encrypt(master, `${keyId}/${place}`, key)
      return `s1.${keyId}.${Buffer.concat([wrapped, encrypt(key, place, Buffer.from(text))]).toString('base64url')}`
    },
    open(place, sealed) {
      const [version, sealedBy, body] = sealed.split('.')
      if (version !== 's1' || sealedBy !== keyId || body === undefined)
        throw fault('internal', { message: 'A secret was sealed under another master key.' })
      const bytes = Buffer.from(body, 'base64url')
      try {
        const key = decrypt(master, `${keyId}/${place}`, bytes.subarray(0, WRAPPED_BYTES))
        return decrypt(key, place, bytes.subarray(WRAPPED_BYTES)).toString('utf8')
      } catch (error) {
        throw fault('internal', { message: 'A stored secret was damaged or moved.' }, error)
      }
    },
    derive: (purpose) => createHmac('sha256', master).update(purpose).digest('base64url'),
  }
}

/** Initialisation vector, ciphertext, tag. */
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

function readKeyFile(dataDir: string, mayCreate: boolean): Buffer {
  const file = join(dataDir, 'master.key')
  try {
    return decodeKey(readFileSync(file, 'utf8').trim())
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ENOENT')) throw error
    if (!mayCreate)
      throw fault(
        'config-invalid',
        {
          message: `The master key of this database is missing: ${file}.`,
          hint: 'Restore the file, or set WINDLASS_SERVER_MASTER_KEY.',
        },
        error,
      )
  }
  writePrivateFile(file, randomBytes(KEY_BYTES).toString('base64') + '\n')
  return decodeKey(readFileSync(file, 'utf8').trim())
}

function decodeKey(text: string): Buffer {
  const key = Buffer.from(text, 'base64')
  if (key.length !== KEY_BYTES) throw fault('config-invalid', { message: 'The master key is not the base64 of 32 bytes.' })
  return key
}
