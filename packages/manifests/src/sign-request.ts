/**
 * Reads certificate requests (PKCS#10, RFC 2986). The bytes come from outside: every length is checked, and anything unusual is refused.
 */
import { createPublicKey, verify, type KeyObject } from 'node:crypto'
import { isIP } from 'node:net'
import { oid } from './der.ts'

export interface SignRequest {
  readonly publicKey: KeyObject
}

/**
 * The accepted signature algorithms, by the DER of their object identifiers: RSA (RFC 8017) and elliptic curves (RFC 5758). The public command line signs
 * with SHA-1. That is strong enough here: a request only proves that its sender has the key, and whoever forges one gets a certificate for a key of others.
 */
const SIGNATURES = [
  { id: oid('1.2.840.113549.1.1.5'), hash: 'sha1' },
  { id: oid('1.2.840.113549.1.1.11'), hash: 'sha256' },
  { id: oid('1.2.840.113549.1.1.12'), hash: 'sha384' },
  { id: oid('1.2.840.113549.1.1.13'), hash: 'sha512' },
  { id: oid('1.2.840.10045.4.3.2'), hash: 'sha256' },
  { id: oid('1.2.840.10045.4.3.3'), hash: 'sha384' },
  { id: oid('1.2.840.10045.4.3.4'), hash: 'sha512' },
] as const

const SEQUENCE = 0x30
const INTEGER = 0x02
const BIT_STRING = 0x03
const MIN_RSA_BITS = 2048
const MAX_RSA_BITS = 8192
const CURVES = ['prime256v1', 'secp384r1', 'secp521r1']

/**
 * Reads a request (PEM) and checks that its signature proves possession of the key. Its names and extensions are ignored; the signer
 * decides them. `problem` is the reason of a refusal.
 */
export function readSignRequest(text: string): SignRequest | { readonly problem: string } {
  const body = /-----BEGIN (?:NEW )?CERTIFICATE REQUEST-----([A-Za-z0-9+/=\s]+)-----END (?:NEW )?CERTIFICATE REQUEST-----/.exec(
    text,
  )?.[1]
  if (body === undefined) return { problem: 'It is not a certificate request in PEM format.' }
  try {
    return open(Buffer.from(body, 'base64'))
  } catch {
    return { problem: 'It is not a certificate request (PKCS#10).' }
  }
}

function open(der: Buffer): SignRequest | { readonly problem: string } {
  const [request] = children({ content: der }, SEQUENCE)
  const [info, algorithm, signature] = children(request)
  const [version, , key] = children(info, INTEGER)
  const [algorithmId] = children(algorithm)
  if (version === undefined || key?.tag !== SEQUENCE || signature?.tag !== BIT_STRING || info === undefined)
    throw new Error('shape')
  const hash = SIGNATURES.find(({ id }) => algorithmId !== undefined && id.equals(algorithmId.whole))?.hash
  if (hash === undefined) return { problem: 'Its signature must be made with RSA or ECDSA, and SHA-256, SHA-384 or SHA-512.' }
  const publicKey = createPublicKey({ key: key.whole, format: 'der', type: 'spki' })
  const weakness = weaknessOf(publicKey)
  if (weakness !== undefined) return { problem: weakness }
  if (!verify(hash, info.whole, publicKey, signature.content.subarray(1))) return { problem: 'Its signature is wrong.' }
  return { publicKey }
}

function weaknessOf({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): string | undefined {
  if (type === 'ec') {
    return CURVES.includes(details?.namedCurve ?? '') ? undefined : 'Its curve must be P-256, P-384 or P-521.'
  }
  const bits = type === 'rsa' ? (details?.modulusLength ?? 0) : 0
  if (bits >= MIN_RSA_BITS && bits <= MAX_RSA_BITS) return undefined
  return `Its key must be RSA of ${MIN_RSA_BITS} to ${MAX_RSA_BITS} bits, or of an elliptic curve.`
}

interface Value {
  readonly tag: number
  readonly content: Buffer
  /** With tag and length. */
  readonly whole: Buffer
}

/** Returns the values inside a constructed one. Throws if a length exceeds it, or if the tag of the first value is not `first`. */
function children(parent: Pick<Value, 'content'> | undefined, first?: number): Value[] {
  if (parent === undefined) throw new Error('missing')
  const { content: bytes } = parent
  const values: Value[] = []
  for (let at = 0; at < bytes.length;) {
    const tag = bytes.readUInt8(at)
    const short = bytes.readUInt8(at + 1)
    const more = short < 0x80 ? 0 : short & 0x7f
    if (short >= 0x80 && (more < 1 || more > 3)) throw new Error('length')
    const length = more === 0 ? short : bytes.readUIntBE(at + 2, more)
    const start = at + 2 + more
    const end = start + length
    if (end > bytes.length) throw new Error('length')
    values.push({ tag, content: bytes.subarray(start, end), whole: bytes.subarray(at, end) })
    at = end
  }
  if (first !== undefined && values[0]?.tag !== first) throw new Error('tag')
  return values
}

const MAX_NAMES = 50
/** A host name; the first label may be `*` if at least one more follows. */
const HOST = /^(\*\.)?[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/

/** Reads names as OpenSSL writes them (`DNS:dind`, `IP:127.0.0.1`). `problem` is the reason of a refusal. */
export function readAlternativeNames(list: readonly string[]): string[] | { readonly problem: string } {
  if (list.length === 0 || list.length > MAX_NAMES) return { problem: `There must be 1 to ${MAX_NAMES} names.` }
  const names: string[] = []
  for (const entry of list) {
    const [, kind, name = ''] = /^\s*(DNS|IP|IP Address)\s*:\s*(\S+)\s*$/i.exec(entry) ?? []
    const isFine = kind?.toUpperCase() === 'DNS' ? name.length <= 253 && HOST.test(name) && isIP(name) === 0 : isIP(name) !== 0
    if (kind === undefined || !isFine)
      return { problem: `"${entry.slice(0, 300)}" is not a valid name. Write DNS:<host> or IP:<address>.` }
    if (!names.includes(name)) names.push(name)
  }
  return names
}
