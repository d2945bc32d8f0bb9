/**
 * Issues the certificates of one attempt: a CA, the certificate of the Docker daemon and that of the engine. The private key of the CA is
 * discarded at once, so that no other certificate can be issued. Elliptic curve P-256: a pair takes 0.1 ms, with RSA 100 ms or more.
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

/** The name in the certificate of the daemon. Engines verify it, whatever address they connect to. */
export const DOCKER_SERVER_NAME = 'dind.windlass'

export interface CertificateOptions {
  /** Epoch milliseconds. */
  readonly now: number
  /** Validity, milliseconds. */
  readonly validMs: number
  /** Additional names of the daemon. */
  readonly names?: readonly string[]
}

/**
 * Issues the certificates for mutual TLS between the engine and the Docker daemon of one attempt. Random, unlike the rest of this package.
 */
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
