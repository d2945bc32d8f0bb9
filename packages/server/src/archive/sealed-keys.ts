/** Master keys in an archive, encrypted with a passphrase: scrypt (RFC 7914) and AES-256-GCM. */
import { createCipheriv, createDecipheriv, randomBytes, scrypt, type ScryptOptions } from 'node:crypto'
import { promisify } from 'node:util'
import { fault } from '@windlass/kit'
import { z } from 'zod'

const Base64 = z.base64().max(100_000)

export const SealedKeys = z.strictObject({
  kdf: z.literal('scrypt'),
  /** Cost, block size and parallelization. Limited, because an archive could ask for any amount of memory. */
  n: z.int().min(2).max(131_072),
  r: z.literal(8),
  p: z.int().min(1).max(4),
  salt: Base64,
  iv: Base64,
  tag: Base64,
  data: Base64,
})
export type SealedKeys = z.output<typeof SealedKeys>

/** Uses 32 MiB and about 0.3 s. */
const COST = { n: 32_768, r: 8, p: 3 } as const
const KEY_BYTES = 32
const PLACE = Buffer.from('windlass archive: master keys')

/** Encrypts the lines of a ring. */
export async function sealKeys(keys: readonly string[], passphrase: string): Promise<SealedKeys> {
  const salt = randomBytes(16)
  const iv = randomBytes(12)
  const cipher = createCipheriv('aes-256-gcm', await derive(passphrase, salt, COST), iv).setAAD(PLACE)
  const data = Buffer.concat([cipher.update(keys.join('\n')), cipher.final()])
  const text = (bytes: Buffer): string => bytes.toString('base64')
  return { kdf: 'scrypt', ...COST, salt: text(salt), iv: text(iv), tag: text(cipher.getAuthTag()), data: text(data) }
}

/** Returns the text of the ring. Throws `passphrase-wrong`. */
export async function openKeys({ salt, iv, tag, data, ...cost }: SealedKeys, passphrase: string): Promise<string> {
  const bytes = (text: string): Buffer => Buffer.from(text, 'base64')
  const key = await derive(passphrase, bytes(salt), cost)
  try {
    const decipher = createDecipheriv('aes-256-gcm', key, bytes(iv)).setAAD(PLACE).setAuthTag(bytes(tag))
    return Buffer.concat([decipher.update(bytes(data)), decipher.final()]).toString('utf8')
  } catch (error) {
    throw fault('passphrase-wrong', undefined, error)
  }
}

const scryptKey = promisify<string, Buffer, number, ScryptOptions, Buffer>(scrypt)

function derive(passphrase: string, salt: Buffer, { n, r, p }: Pick<SealedKeys, 'n' | 'r' | 'p'>): Promise<Buffer> {
  return scryptKey(passphrase.normalize('NFC'), salt, KEY_BYTES, { N: n, r, p, maxmem: 256 * n * r })
}
