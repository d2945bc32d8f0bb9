/** Signature Version 4 of AWS, which compatible stores use too. */
import { AwsV4Signer } from 'aws4fetch'
import { defined } from '@windlass/kit/defined'
import type { AwsCredentials } from './credentials.ts'

export interface SignerOptions {
  readonly credentials: AwsCredentials
  /** Name of the service in the signature: `ec2`, `s3`. */
  readonly service: string
  readonly region: string
}

export interface SignedRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
}

/**
 * Returns the headers of the request with its signature. The time of this machine is part of the signature, so a repeated request must be signed
 * again. For S3 the header `x-amz-content-sha256` is part of the signature if it is given.
 */
export async function signAws(request: SignedRequest, options: SignerOptions): Promise<Record<string, string>> {
  const { accessKeyId, secretAccessKey, sessionToken } = options.credentials
  const signer = new AwsV4Signer({
    method: request.method,
    url: request.url,
    headers: { ...request.headers },
    // The payload of S3 is in the signature by its hash only.
    ...(request.body !== undefined && options.service !== 's3' && { body: bodyOf(request.body) }),
    accessKeyId,
    secretAccessKey,
    ...defined({ sessionToken }),
    service: options.service,
    region: options.region,
  })
  const { headers } = await signer.sign()
  return Object.fromEntries(headers)
}

/**
 * Returns an address with its signature. Its holder can make the request. `seconds` is its life, at most a week. Headers that are given are part of the signature,
 * so the later request must have them.
 */
export async function presignAws(
  { method, url, headers = {} }: Pick<SignedRequest, 'method' | 'url'> & Partial<Pick<SignedRequest, 'headers'>>,
  seconds: number,
  { credentials, service, region }: SignerOptions,
): Promise<string> {
  const address = new URL(url)
  address.searchParams.set('X-Amz-Expires', String(Math.min(seconds, MAX_PRESIGNED_S)))
  const { accessKeyId, secretAccessKey, sessionToken } = credentials
  const signer = new AwsV4Signer({
    method,
    url: address.href,
    headers: { ...headers },
    accessKeyId,
    secretAccessKey,
    ...defined({ sessionToken }),
    service,
    region,
    signQuery: true,
  })
  const signed = await signer.sign()
  return signed.url.href
}

/** A week. Seconds. */
const MAX_PRESIGNED_S = 604_800

/** Copies bytes, because the types of the web accept no view of shared memory. */
function bodyOf(body: string | Uint8Array): string | Uint8Array<ArrayBuffer> {
  return typeof body === 'string' ? body : new Uint8Array(body)
}
