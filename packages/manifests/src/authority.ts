/**
 * The CA of an account, for Docker daemons with a lasting certificate in their namespace (agents of protocol v1, which create no Secrets).
 * It signs the requests of daemons and issues the certificate of each engine. The server stores its key.
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

/** Both PEM. */
export interface Authority {
  readonly certificate: string
  readonly key: string
}

interface Term {
  /** Epoch milliseconds. */
  readonly now: number
  /** Validity, milliseconds. */
  readonly validMs: number
}

const NAME = 'windlass account'
/** RSA needs it for key exchange; other keys do not. */
const KEY_ENCIPHERMENT = 0b0010_0000

/** Creates a CA. Random. */
export function newAuthority({ now, validMs }: Term): Authority {
  const keys = newKeys()
  const validity = { from: now - SKEW_MS, to: now + validMs }
  const extensions = [basicConstraints(true), keyUsage(KEY_CERT_SIGN)]
  return {
    certificate: certificate({ issuer: NAME, subject: NAME, validity, keys, signer: keys, extensions }),
    key: toPem(keys.privateKey),
  }
}

/** Signs the certificate of a Docker daemon for the given host names and addresses, valid only as a server. Returns PEM. */
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

/** Creates a key and a certificate of a server that vouches for itself: clients trust the certificate as an authority. PEM. Random. */
export function selfSignedServer({
  subject,
  names,
  now,
  validMs,
}: { readonly subject: string; readonly names: readonly string[] } & Term): { readonly cert: string; readonly key: string } {
  const keys = newKeys()
  const cert = certificate({
    issuer: subject,
    subject,
    validity: { from: now - SKEW_MS, to: now + validMs },
    keys,
    signer: keys,
    extensions: [
      basicConstraints(true),
      keyUsage(DIGITAL_SIGNATURE | KEY_CERT_SIGN),
      extendedKeyUsage(SERVER_AUTH),
      alternativeNames(names),
    ],
  })
  return { cert, key: toPem(keys.privateKey) }
}

/** Issues a key and a certificate of an engine, valid only as a client. PEM. Random. */
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
