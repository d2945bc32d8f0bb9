/** Version 4 signatures of Google Cloud Storage in addresses, by service accounts. Rules of "V4 signing process" in its documentation. */
import { createHash } from 'node:crypto'
import type { GoogleSigner } from '@windlass/cloud'
import { MAX_ADDRESS_S, percentEncoded } from './cache-store.ts'

export interface GoogleAddress {
  readonly method: 'GET' | 'PUT'
  /** With its path encoded, and without a query. */
  readonly url: string
  /** Life of the address, at most a week. */
  readonly seconds: number
  /** Epoch milliseconds. */
  readonly now: number
  readonly signer: GoogleSigner
  readonly signal: AbortSignal
}

const ALGORITHM = 'GOOG4-RSA-SHA256'

/** Returns the address with its signature. Of the headers only the host is signed, so the request may have others. Throws as the signer. */
export async function presignGoogle({ method, url, seconds, now, signer, signal }: GoogleAddress): Promise<string> {
  const { host, pathname, origin } = new URL(url)
  // 2026-01-31T12:00:00.000Z becomes 20260131T120000Z.
  const time = new Date(now).toISOString().replaceAll(/[-:]|\.\d+/g, '')
  const scope = `${time.slice(0, 8)}/auto/storage/goog4_request`
  const query = Object.entries({
    'X-Goog-Algorithm': ALGORITHM,
    'X-Goog-Credential': `${signer.email}/${scope}`,
    'X-Goog-Date': time,
    'X-Goog-Expires': String(Math.min(seconds, MAX_ADDRESS_S)),
    'X-Goog-SignedHeaders': 'host',
  })
    .map(([name, value]) => `${name}=${percentEncoded(value)}`)
    .join('&')
  const request = [method, pathname, query, `host:${host}`, '', 'host', 'UNSIGNED-PAYLOAD'].join('\n')
  const text = [ALGORITHM, time, scope, createHash('sha256').update(request).digest('hex')].join('\n')
  const signature = await signer.sign(text, signal)
  return `${origin}${pathname}?${query}&X-Goog-Signature=${signature.toString('hex')}`
}
