/** The certificate with which Secrets are sealed: that of the controller of Sealed Secrets in the cluster of the runtime. It replaces its key now and then, so the certificate is asked for each time. */
import { X509Certificate, type KeyObject } from 'node:crypto'
import { fault, readText, type Clock } from '@windlass/kit'
import type { ClientOptions } from '@windlass/protocol'

const PATH = '/v1/cert.pem'
const MAX_BYTES = 65_536
const TIMEOUT_MS = 10_000
const MIN_KEY_BITS = 2_048
const HINT = 'Check the controller of Sealed Secrets, and its URL `app-proxy.config.sealedSecretsUrl` in the values of the chart.'

export type SealingServer = Omit<ClientOptions, 'token'>

/** Returns the public key. Throws `service-unreachable`, and `service-refused` for an answer that is not the certificate of a key that is valid now. */
export async function readSealingKey({ url, transport }: SealingServer, clock: Clock): Promise<KeyObject> {
  const text = await fetchPem(`${url}${PATH}`, transport)
  const certificate = parseCertificate(text)
  const key = certificate?.publicKey
  const bits = key?.asymmetricKeyDetails?.modulusLength ?? 0
  if (certificate === undefined || key?.asymmetricKeyType !== 'rsa' || bits < MIN_KEY_BITS)
    throw fault('service-refused', {
      message: 'The controller of Sealed Secrets returned no certificate with an RSA key.',
      hint: HINT,
    })
  if (Date.parse(certificate.validTo) <= clock.now())
    throw fault('service-refused', {
      message: `The certificate of the controller of Sealed Secrets has expired: ${certificate.validTo}.`,
      hint: 'Let the controller make a new key, then repeat the call.',
    })
  return key
}

async function fetchPem(url: string, transport: SealingServer['transport']): Promise<string> {
  try {
    const answer = await transport({ method: 'GET', url, headers: { accept: 'application/x-pem-file' }, timeoutMs: TIMEOUT_MS })
    const text = await readText(answer.body, MAX_BYTES, () => new Error('the answer is too large'))
    if (answer.status !== 200) throw new Error(`it answered ${answer.status}`)
    return text
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error)
    throw fault(
      'service-unreachable',
      { message: `The controller of Sealed Secrets gives no certificate: ${why}.`, hint: HINT },
      error,
    )
  }
}

function parseCertificate(text: string): X509Certificate | undefined {
  try {
    return new X509Certificate(text)
  } catch {
    return undefined
  }
}
