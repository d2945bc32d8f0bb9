/**
 * The authority of an account, for Docker daemons whose certificate is a lasting one of their namespace (agents of protocol 1, which make no
 * Secrets): it signs what a daemon asks for, and each engine's own certificate. Not here: where its key is kept (the server).
 */
import { createPrivateKey, createPublicKey } from 'node:crypto'
import type { SignRequest } from './sign-request.ts'
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

/** PEM. */
export interface Authority {
  readonly certificate: string
  readonly key: string
}

interface Term {
  /** Epoch milliseconds. */
  readonly now: number
  /** How long it is good, milliseconds. */
  readonly validMs: number
}

const NAME = 'windlass account'
/** RSA needs it for key exchange; for others it does no harm to leave it out. */
const KEY_ENCIPHERMENT = 0b0010_0000

/** Makes an authority. Random. */
export function newAuthority({ now, validMs }: Term): Authority {
  const keys = newKeys()
  const validity = { from: now - SKEW_MS, to: now + validMs }
  const extensions = [basicConstraints(true), keyUsage(KEY_CERT_SIGN)]
  return {
    certificate: certificate({ issuer: NAME, subject: NAME, validity, keys, signer: keys, extensions }),
    key: toPem(keys.privateKey),
  }
}

/** Signs the certificate of a Docker daemon for the given host names and addresses, and for being a server only; PEM. */
export function signServer(authority: Authority, request: SignRequest & { names: readonly string[] } & Term): string {
  const usage = request.publicKey.asymmetricKeyType === 'rsa' ? DIGITAL_SIGNATURE | KEY_ENCIPHERMENT : DIGITAL_SIGNATURE
  return certificate({
    issuer: NAME,
    subject: 'docker.codefresh.io',
    validity: { from: request.now - SKEW_MS, to: request.now + request.validMs },
    keys: request,
    signer: signerOf(authority),
    extensions: [basicConstraints(false), keyUsage(usage), extendedKeyUsage(SERVER_AUTH), alternativeNames(request.names)],
  })
}

/** A key and a certificate of an engine, for being a client only; PEM. Random. */
export function issueClient(authority: Authority, { now, validMs }: Term): { readonly cert: string; readonly key: string } {
  const keys = newKeys()
  const cert = certificate({
    issuer: NAME,
    subject: 'engine',
    validity: { from: now - SKEW_MS, to: now + validMs },
    keys,
    signer: signerOf(authority),
    extensions: [basicConstraints(false), keyUsage(DIGITAL_SIGNATURE), extendedKeyUsage(CLIENT_AUTH)],
  })
  return { cert, key: toPem(keys.privateKey) }
}

function signerOf({ key }: Authority): Keys {
  const privateKey = createPrivateKey(key)
  return { privateKey, publicKey: createPublicKey(privateKey) }
}
