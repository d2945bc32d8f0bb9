/** Where logs are in S3: `s3://BUCKET/PREFIX?region=…&endpoint=…`. */
import { isIP } from 'node:net'
import { fault, hostOf } from '@windlass/kit'

export interface S3Address {
  readonly bucket: string
  /** Without slashes at its ends; empty for the whole bucket. */
  readonly prefix: string
  readonly region: string
  /** Base URL of the store, without a slash at its end. */
  readonly endpoint: string
  /** True if the bucket is in the path and not in the host name. */
  readonly isPathStyle: boolean
  /** Headers that request encryption by the store. */
  readonly encryption: Readonly<Record<string, string>>
}

type Environment = Readonly<Record<string, string | undefined>>

const PARAMETERS = ['region', 'endpoint', 'style', 'sse', 'kmsKeyId']
const BUCKET = /^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/
const PREFIX = /^[\w.-]+(\/[\w.-]+)*$/
const SSE = ['AES256', 'aws:kms', 'aws:kms:dsse']
const DEFAULT_REGION = 'us-east-1'

/** Parses the URL. The region defaults to that of the AWS tools. Throws `config-invalid`; the message never repeats a user name or password. */
export function parseS3Url(text: string, env: Environment): S3Address {
  const url = URL.parse(text)
  if (url?.protocol !== 's3:') throw invalid('is not a URL such as s3://bucket/prefix?region=eu-central-1')
  if (url.username !== '' || url.password !== '')
    throw invalid('contains credentials. Set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY instead')
  const bucket = url.host
  if (!BUCKET.test(bucket) || bucket.includes('..')) throw invalid(`has the bucket "${bucket}", which is not a valid name`)
  const prefix = url.pathname.replace(/^\/+|\/+$/g, '')
  if (prefix !== '' && (!PREFIX.test(prefix) || /(^|\/)\.\.?(\/|$)/.test(prefix)))
    throw invalid(`has the prefix "${prefix}". Use letters, digits, "-", "_", "." and "/"`)
  for (const [name, value] of url.searchParams) {
    if (!PARAMETERS.includes(name)) throw invalid(`has the parameter "${name}". Known are ${PARAMETERS.join(', ')}`)
    if (value === '') throw invalid(`has the parameter "${name}" without a value`)
  }
  return { bucket, prefix, ...readPlace(url.searchParams, bucket, env), encryption: readEncryption(url.searchParams) }
}

function readPlace(
  query: URLSearchParams,
  bucket: string,
  env: Environment,
): Pick<S3Address, 'region' | 'endpoint' | 'isPathStyle'> {
  const region = query.get('region') ?? env['AWS_REGION'] ?? env['AWS_DEFAULT_REGION'] ?? DEFAULT_REGION
  if (!/^[a-z0-9-]+$/.test(region)) throw invalid(`has the region "${region}", which is not a valid name`)
  const given = query.get('endpoint') ?? env['AWS_ENDPOINT_URL_S3']
  const endpoint = URL.parse(given ?? `https://s3.${region}.${region.startsWith('cn-') ? 'amazonaws.com.cn' : 'amazonaws.com'}`)
  if (endpoint === null || !/^https?:$/.test(endpoint.protocol) || endpoint.pathname !== '/' || endpoint.search !== '')
    throw invalid('has an endpoint that is not a URL such as https://minio.example.com:9000')
  if (endpoint.username !== '') throw invalid('has an endpoint with credentials')
  const style = query.get('style')
  if (style !== null && style !== 'path' && style !== 'virtual')
    throw invalid(`has the style "${style}". Use \`path\` or \`virtual\``)
  if (style === 'virtual' && isIP(hostOf(endpoint)) !== 0)
    throw invalid(
      `has the style "virtual", which needs a host name as endpoint and not the address ${endpoint.hostname}. Use \`path\``,
    )
  // No certificate of AWS covers a bucket with dots, and few other stores have a host name for each bucket.
  const isPathStyle = style === null ? given !== undefined || bucket.includes('.') : style === 'path'
  return { region, endpoint: endpoint.origin, isPathStyle }
}

function readEncryption(query: URLSearchParams): Record<string, string> {
  const [sse, kmsKeyId] = [query.get('sse'), query.get('kmsKeyId')]
  if (sse !== null && !SSE.includes(sse)) throw invalid(`has sse "${sse}". Known are ${SSE.join(', ')}`)
  if (kmsKeyId !== null && sse?.startsWith('aws:kms') !== true) throw invalid('has kmsKeyId without sse=aws:kms')
  return {
    ...(sse !== null && { 'x-amz-server-side-encryption': sse }),
    ...(kmsKeyId !== null && { 'x-amz-server-side-encryption-aws-kms-key-id': kmsKeyId }),
  }
}

function invalid(problem: string): Error {
  return fault('config-invalid', {
    message: `The URL of the log storage ${problem}.`,
    hint: 'Set WINDLASS_SERVER_LOGS_URL to a folder or to s3://BUCKET/PREFIX, see docs/operate/storage.md.',
  })
}

/** Returns the URL of a key below the prefix, or of the bucket if the key is undefined. Throws `config-invalid` if the host name is not valid. */
export function urlOf(address: S3Address, key: string | undefined, query: Readonly<Record<string, string>> = {}): string {
  const url = new URL(address.endpoint)
  if (!address.isPathStyle) {
    const host = `${address.bucket}.${url.host}`
    url.host = host
    // The setter ignores an invalid host, and the calls would go to another bucket.
    if (url.host !== host) throw invalid(`has the style "virtual", but "${host}" is not a valid host name. Use \`path\``)
  }
  const path = [...(address.isPathStyle ? [address.bucket] : []), ...(key === undefined ? [] : [keyOf(address, key)])]
  url.pathname = `/${path.join('/')}`
  url.search = new URLSearchParams(query).toString()
  return url.href
}

/** Returns the complete key of an object. */
export function keyOf({ prefix }: Pick<S3Address, 'prefix'>, key: string): string {
  return prefix === '' ? key : `${prefix}/${key}`
}

/** Returns the short form for messages: `s3://bucket/prefix`. */
export function nameOf({ bucket, prefix }: S3Address): string {
  return prefix === '' ? `s3://${bucket}` : `s3://${bucket}/${prefix}`
}
