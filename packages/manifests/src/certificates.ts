/**
 * Certificates for one attempt: an authority of its own, the Docker daemon's certificate and the engine's. The authority's private key
 * is thrown away at once, so nobody can ever issue a third one. Elliptic curve P-256: a pair costs 0.1 ms, RSA 100 ms and more.
 */
import {
  alternativeNames,
  basicConstraints,
  certificate,
  CLIENT_AUTH,
  DIGITAL_SIGNATURE,
  extendedKeyUsage,
  KEY_CERT_SIGN,
  keyUsage,
  newKeys,
  SERVER_AUTH,
  SKEW_MS,
  toPem,
  type Keys,
} from './x509.ts'

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

/** Issues the certificates of one attempt for mutual TLS between engine and Docker daemon. Random; the rest of this package is not. */
export function issueCertificates({ now, validMs, names = [] }: CertificateOptions): DockerCertificates {
  const validity = { from: now - SKEW_MS, to: now + validMs }
  const authority = newKeys()
  const server = newKeys()
  const client = newKeys()
  const issue = (subject: string, keys: Keys, extensions: readonly Buffer[]): string =>
    certificate({ issuer: 'windlass attempt', subject, validity, keys, signer: authority, extensions })
  return {
    ca: issue('windlass attempt', authority, [basicConstraints(true), keyUsage(KEY_CERT_SIGN)]),
    serverCert: issue(DOCKER_SERVER_NAME, server, [
      basicConstraints(false),
      keyUsage(DIGITAL_SIGNATURE),
      extendedKeyUsage(SERVER_AUTH),
      alternativeNames([DOCKER_SERVER_NAME, 'localhost', ...names, '127.0.0.1']),
    ]),
    serverKey: toPem(server.privateKey),
    clientCert: issue('engine', client, [basicConstraints(false), keyUsage(DIGITAL_SIGNATURE), extendedKeyUsage(CLIENT_AUTH)]),
    clientKey: toPem(client.privateKey),
  }
}
