/**
 * Encrypts values as `kubeseal` does, for the controller of Sealed Secrets: a random AES key is encrypted with the key of the certificate, and the value with the AES key
 * (github.com/bitnami-labs/sealed-secrets, `pkg/crypto`). Pure, except for random keys.
 */
import { constants, createCipheriv, publicEncrypt, randomBytes, type KeyObject } from 'node:crypto'

const KEY_BYTES = 32
const NONCE_BYTES = 12

export interface SealedPlace {
  readonly namespace: string
  /** Name of the Secret. The controller opens the value for this Secret only. */
  readonly name: string
}

/** Returns the value for `encryptedData`. */
export function seal(key: KeyObject, { namespace, name }: SealedPlace, value: string): string {
  const session = randomBytes(KEY_BYTES)
  const padding = { padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' }
  const wrapped = publicEncrypt({ key, ...padding, oaepLabel: Buffer.from(`${namespace}/${name}`) }, session)
  // The key is used once, so the nonce does not have to differ.
  const cipher = createCipheriv('aes-256-gcm', session, Buffer.alloc(NONCE_BYTES))
  const content = Buffer.concat([cipher.update(value, 'utf8'), cipher.final(), cipher.getAuthTag()])
  const length = Buffer.alloc(2)
  length.writeUInt16BE(wrapped.length)
  return Buffer.concat([length, wrapped, content]).toString('base64')
}
