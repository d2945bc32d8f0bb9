/** Writes X.509 v3 certificates (RFC 5280) in DER, because Node cannot issue certificates. */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { isIPv4, isIPv6 } from 'node:net'
import { bitString, bool, context, explicit, integer, octets, oid, pem, sequence, set, time, utf8 } from './der.ts'

/** Certificates are valid from this long before now, because the clocks of nodes differ. Milliseconds. */
export const SKEW_MS = 10 * 60_000

export interface Validity {
  /** Epoch milliseconds. */
  readonly from: number
  readonly to: number
}

export interface Keys {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

/** Creates a key pair on the elliptic curve P-256. */
export function newKeys(): Keys {
  return generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
}

/** Returns a key as PKCS#8 PEM. */
export function toPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

const ECDSA_WITH_SHA256 = sequence(oid('1.2.840.10045.4.3.2'))
const COMMON_NAME = '2.5.4.3'
export const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
export const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
/** Bits of the key usage, counted from the left (RFC 5280 4.2.1.3). */
export const DIGITAL_SIGNATURE = 0b1000_0000
export const KEY_CERT_SIGN = 0b0000_0100

export interface CertificateParts {
  readonly issuer: string
  readonly subject: string
  readonly validity: Validity
  /** Key of the subject. */
  readonly keys: Pick<Keys, 'publicKey'>
  readonly signer: Keys
  readonly extensions: readonly Buffer[]
}

/** Returns a signed certificate as PEM. */
export function certificate(parts: CertificateParts): string {
  const body = sequence(
    explicit(0, integer(Buffer.from([2]))),
    integer(serialNumber()),
    ECDSA_WITH_SHA256,
    commonName(parts.issuer),
    sequence(time(parts.validity.from), time(parts.validity.to)),
    commonName(parts.subject),
    parts.keys.publicKey.export({ type: 'spki', format: 'der' }),
    explicit(3, sequence(...parts.extensions, keyIdentifier(parts.keys), authorityIdentifier(parts.signer))),
  )
  const signature = bitString(sign('sha256', body, parts.signer.privateKey))
  return pem('CERTIFICATE', sequence(body, ECDSA_WITH_SHA256, signature))
}

/** Returns 127 random bits, positive and without a leading zero byte. */
function serialNumber(): Buffer {
  const bytes = randomBytes(16)
  bytes.writeUInt8((bytes.readUInt8(0) & 0x7f) | 0x40, 0)
  return bytes
}

function commonName(name: string): Buffer {
  return sequence(set(sequence(oid(COMMON_NAME), utf8(name))))
}

function extension(id: string, critical: boolean, value: Buffer): Buffer {
  return critical ? sequence(oid(id), bool(true), octets(value)) : sequence(oid(id), octets(value))
}

/** Returns the identifier of a key. Any short digest is valid (RFC 7093); strict verifiers require both identifiers. */
function identify({ publicKey }: Pick<Keys, 'publicKey'>): Buffer {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20)
}

function keyIdentifier(keys: Pick<Keys, 'publicKey'>): Buffer {
  return extension('2.5.29.14', false, octets(identify(keys)))
}

function authorityIdentifier(signer: Pick<Keys, 'publicKey'>): Buffer {
  return extension('2.5.29.35', false, sequence(context(0, identify(signer))))
}

export function basicConstraints(isAuthority: boolean): Buffer {
  return extension('2.5.29.19', true, isAuthority ? sequence(bool(true)) : sequence())
}

export function keyUsage(bits: number): Buffer {
  const unused = 31 - Math.clz32(bits & -bits)
  return extension('2.5.29.15', true, bitString(Buffer.from([bits]), unused))
}

export function extendedKeyUsage(purpose: string): Buffer {
  return extension('2.5.29.37', false, sequence(oid(purpose)))
}

/** Encodes host names (the first label may be `*`) and IP addresses. */
export function alternativeNames(names: readonly string[]): Buffer {
  return extension('2.5.29.17', false, sequence(...names.map(generalName)))
}

function generalName(name: string): Buffer {
  return isIPv4(name) || isIPv6(name) ? context(7, addressBytes(name)) : context(2, Buffer.from(name, 'ascii'))
}

function addressBytes(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  // The URL parser writes every form of IPv6 in hexadecimal groups, with at most one `::`.
  const [left = '', right] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::')
  const groups = (text: string): number[] =>
    text.split(':').flatMap((group) => (group === '' ? [] : [Number.parseInt(group, 16)]))
  const before = groups(left)
  const after = groups(right ?? '')
  const all = [...before, ...Array.from({ length: 8 - before.length - after.length }, () => 0), ...after]
  return Buffer.from(all.flatMap((group) => [group >> 8, group & 0xff]))
}
