/**
 * Certificates for one attempt: an authority of its own, the Docker daemon's certificate and the engine's. The authority's private key
 * is thrown away at once, so nobody can ever issue a third one. Elliptic curve P-256: a pair costs 0.1 ms, RSA 100 ms and more.
 * Node issues no certificates itself; the form is X.509 v3 (RFC 5280) in DER, of which this writes the few parts needed.
 */
import { createHash, generateKeyPairSync, randomBytes, sign, type KeyObject } from 'node:crypto'
import { bitString, bool, context, explicit, integer, octets, oid, pem, sequence, set, time, utf8 } from './der.ts'

/** All PEM. */
export interface DockerCertificates {
  readonly ca: string
  readonly serverCert: string
  readonly serverKey: string
  readonly clientCert: string
  readonly clientKey: string
}

/** The name that the daemon's certificate carries: engines verify against it, whatever address they connect to. */
export const DOCKER_SERVER_NAME = 'dind.windlass'

export interface CertificateOptions {
  /** Epoch milliseconds. */
  readonly now: number
  /** How long they are good, milliseconds. */
  readonly validMs: number
  /** Further names of the daemon. */
  readonly names?: readonly string[]
}

/** Clocks of nodes differ: certificates are good from this long before now. */
const SKEW_MS = 10 * 60_000

/** Issues the certificates of one attempt for mutual TLS between engine and Docker daemon. Random; the rest of this package is not. */
export function issueCertificates({ now, validMs, names = [] }: CertificateOptions): DockerCertificates {
  const validity = { from: now - SKEW_MS, to: now + validMs }
  const authority = newKeys()
  const server = newKeys()
  const client = newKeys()
  const issue = (subject: string, keys: Keys, extensions: readonly Buffer[]): string =>
    pem('CERTIFICATE', certificate({ issuer: 'windlass attempt', subject, validity, keys, signer: authority, extensions }))
  return {
    ca: issue('windlass attempt', authority, [basicConstraints(true), keyUsage(KEY_CERT_SIGN)]),
    serverCert: issue(DOCKER_SERVER_NAME, server, [
      basicConstraints(false),
      keyUsage(DIGITAL_SIGNATURE),
      extendedKeyUsage(SERVER_AUTH),
      alternativeNames([DOCKER_SERVER_NAME, 'localhost', ...names]),
    ]),
    serverKey: toPem(server.privateKey),
    clientCert: issue('engine', client, [basicConstraints(false), keyUsage(DIGITAL_SIGNATURE), extendedKeyUsage(CLIENT_AUTH)]),
    clientKey: toPem(client.privateKey),
  }
}

interface Keys {
  readonly publicKey: KeyObject
  readonly privateKey: KeyObject
}

function newKeys(): Keys {
  return generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
}

function toPem(key: KeyObject): string {
  return key.export({ type: 'pkcs8', format: 'pem' }).toString()
}

const ECDSA_WITH_SHA256 = sequence(oid('1.2.840.10045.4.3.2'))
const COMMON_NAME = '2.5.4.3'
const SERVER_AUTH = '1.3.6.1.5.5.7.3.1'
const CLIENT_AUTH = '1.3.6.1.5.5.7.3.2'
/** Bits of the key usage, counted from the left (RFC 5280 4.2.1.3). */
const DIGITAL_SIGNATURE = 0b1000_0000
const KEY_CERT_SIGN = 0b0000_0100

interface CertificateParts {
  readonly issuer: string
  readonly subject: string
  readonly validity: { readonly from: number; readonly to: number }
  readonly keys: Keys
  readonly signer: Keys
  readonly extensions: readonly Buffer[]
}

function certificate(parts: CertificateParts): Buffer {
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
  return sequence(body, ECDSA_WITH_SHA256, bitString(sign('sha256', body, parts.signer.privateKey)))
}

/** 127 random bits, positive and never with a leading zero octet. */
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

/** Any short digest of the key will do (RFC 7093); strict verifiers want both identifiers to be there. */
function identify({ publicKey }: Keys): Buffer {
  return createHash('sha256')
    .update(publicKey.export({ type: 'spki', format: 'der' }))
    .digest()
    .subarray(0, 20)
}

function keyIdentifier(keys: Keys): Buffer {
  return extension('2.5.29.14', false, octets(identify(keys)))
}

function authorityIdentifier(signer: Keys): Buffer {
  return extension('2.5.29.35', false, sequence(context(0, identify(signer))))
}

function basicConstraints(isAuthority: boolean): Buffer {
  return extension('2.5.29.19', true, isAuthority ? sequence(bool(true)) : sequence())
}

function keyUsage(bits: number): Buffer {
  const unused = 31 - Math.clz32(bits & -bits)
  return extension('2.5.29.15', true, bitString(Buffer.from([bits]), unused))
}

function extendedKeyUsage(purpose: string): Buffer {
  return extension('2.5.29.37', false, sequence(oid(purpose)))
}

function alternativeNames(names: readonly string[]): Buffer {
  const loopback = context(7, Buffer.from([127, 0, 0, 1]))
  return extension('2.5.29.17', false, sequence(...names.map((name) => context(2, Buffer.from(name, 'ascii'))), loopback))
}
