/** Writes certificate requests (PKCS#10, RFC 2986). */
import { generateKeyPairSync, sign } from 'node:crypto'
import { bitString, explicit, integer, oid, pem, sequence, set, utf8 } from './der.ts'

const COMMON_NAME = '2.5.4.3'
const ECDSA_WITH_SHA256 = '1.2.840.10045.4.3.2'

/**
 * Creates a key on the curve P-256 (PKCS#8) and a request for it, both PEM. The request contains no alternative names; the signer gets them
 * separately. Random.
 */
export function newSignRequest(commonName: string): { readonly key: string; readonly csr: string } {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const subject = sequence(set(sequence(oid(COMMON_NAME), utf8(commonName))))
  const spki = publicKey.export({ type: 'spki', format: 'der' })
  const version = integer(Buffer.from([0]))
  const noAttributes = explicit(0, Buffer.alloc(0))
  const info = sequence(version, subject, spki, noAttributes)
  const signature = sign('sha256', info, privateKey)
  const der = sequence(info, sequence(oid(ECDSA_WITH_SHA256)), bitString(signature))
  return { key: privateKey.export({ type: 'pkcs8', format: 'pem' }).toString(), csr: pem('CERTIFICATE REQUEST', der) }
}
