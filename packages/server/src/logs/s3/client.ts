/** Signed calls to S3, with timeouts and a limited number of retries. */
import { readXmlError, signAws, textOf, type AwsCredentials } from '@windlass/cloud'
import { isFault, nodeTransport, retry, sha256, type Clock } from '@windlass/kit'
import { urlOf, type S3Address } from './address.ts'
import { isOfStore, type Received, type S3Action } from './answers.ts'

export interface S3Call {
  readonly action: S3Action
  readonly method: 'GET' | 'PUT' | 'DELETE' | 'POST'
  /** Key below the prefix; undefined for the bucket. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Uint8Array
  /** Error codes that the caller handles: the answer is returned and not thrown. */
  readonly accepts?: readonly string[]
  /** Maximum bytes of the answer that are read. */
  readonly maxBytes?: number
}

export interface S3Answer extends Received {
  /** Error code of an accepted error. */
  readonly code?: string | undefined
}

/** An answer of the store that is an error, or no answer (`status` 0). The message contains no credential. */
export class S3Error extends Error {
  readonly status: number
  readonly code: string
  /** Region of the bucket, if the store names it. */
  readonly region: string | undefined
  /** Time of the store, epoch milliseconds. */
  readonly storeTime: number | undefined

  constructor(
    message: string,
    details: { status: number; code: string; region?: string | undefined; storeTime?: number | undefined; cause?: unknown },
  ) {
    super(message, { cause: details.cause })
    this.status = details.status
    this.code = details.code
    this.region = details.region
    this.storeTime = details.storeTime
  }
}

export interface S3 {
  readonly address: S3Address
  /** Makes a call. Throws `S3Error`, or `storage-refused` and `storage-unreachable` if there are no credentials. */
  call(request: S3Call): Promise<S3Answer>
}

export interface S3Options {
  readonly address: S3Address
  readonly clock: Clock
  readonly credentials: (signal: AbortSignal) => Promise<AwsCredentials>
  readonly limits?: Partial<S3Limits>
}

export interface S3Limits {
  readonly connectMs: number
  /** Maximum duration of one try. */
  readonly tryMs: number
  /** Maximum duration of a call with all its tries. Much shorter than the time after which rows of a log are refused. */
  readonly callMs: number
  readonly tries: number
}

export const S3_LIMITS: S3Limits = { connectMs: 5_000, tryMs: 15_000, callMs: 30_000, tries: 4 }

const BACKOFF = { baseMs: 100, maxMs: 2_000 } as const
/** Answers other than objects are pages of a list, or errors. */
const MAX_ANSWER_BYTES = 8_388_608
const RETRIABLE = ['RequestTimeout', 'OperationAborted', 'ConditionalRequestConflict', 'ExpiredToken', 'ExpiredTokenException']
/** Code of an answer that ignores the range of a call. */
export const RANGE_IGNORED = 'RangeIgnored'

/** Opens a client; sends nothing yet. */
export function openS3({ address, clock, credentials, limits }: S3Options): S3 {
  const { connectMs, tryMs, callMs, tries } = { ...S3_LIMITS, ...limits }
  // Slow readers, of which there may be many, must not delay what engines write.
  const [forWrites, forReads] = [nodeTransport({ connectMs }), nodeTransport({ connectMs })]

  async function send(request: S3Call, signal: AbortSignal): Promise<S3Answer> {
    const { method, body } = request
    const url = urlOf(address, request.key, request.query)
    // The hash lets the store detect bytes that were damaged on the way.
    const plain = { ...request.headers, 'x-amz-content-sha256': sha256(body ?? '') }
    const signer = { credentials: await credentials(signal), service: 's3', region: address.region }
    const headers = await signAws({ method, url, headers: plain }, signer)
    const transport = method === 'PUT' || method === 'POST' ? forWrites : forReads
    const answer = await transport({ method, url, headers, body, signal, timeoutMs: tryMs })
    const bytes = await readUpTo(answer, request.maxBytes ?? MAX_ANSWER_BYTES)
    const failure = errorOf(request, { status: answer.status, headers: answer.headers, body: bytes })
    if (failure !== undefined && request.accepts?.includes(failure.code) !== true) throw failure
    return { status: answer.status, headers: answer.headers, body: bytes, code: failure?.code }
  }

  return {
    address,
    async call(request) {
      const signal = AbortSignal.timeout(callMs)
      let last: unknown
      const work = async (): Promise<S3Answer> => {
        try {
          return await send(request, signal)
        } catch (error) {
          if (error instanceof S3Error || isFault(error)) throw (last = error)
          throw (last = noAnswer(request, error))
        }
      }
      try {
        return await retry({ ...BACKOFF, tries, clock, signal, retryIf: isRetriable }, work)
      } catch (error) {
        throw error instanceof S3Error || isFault(error) ? error : (last ?? noAnswer(request, error))
      }
    },
  }
}

function isRetriable(error: unknown): boolean {
  if (!(error instanceof S3Error)) return isFault(error) && error.retryable
  return error.status === 0 || error.status === 429 || error.status >= 500 || RETRIABLE.includes(error.code)
}

function noAnswer({ action }: S3Call, error: unknown): S3Error {
  const cause = error instanceof Error ? error.message : String(error)
  return new S3Error(`S3 ${action}: no answer: ${cause}`, { status: 0, code: 'NoAnswer', cause: error })
}

/** Returns the error of an answer. An answer that is not from the store counts as a missing one. */
function errorOf(request: S3Call, answer: Received): S3Error | undefined {
  const { status, headers, body } = answer
  if (isOfStore(request.action, answer)) return undefined
  const text = body.subarray(0, 65_536).toString()
  const { code, message: told } = readXmlError(text)
  // The answer of CompleteMultipartUpload may be an error although its status is 200.
  const isError = code !== 'error' && (status >= 300 || (request.method === 'POST' && text.includes('<Error>')))
  if (!isError) return foreign(request, answer)
  const region = headers['x-amz-bucket-region'] ?? textOf(text, 'Region')
  const storeTime = Date.parse(headers['date'] ?? '') || undefined
  const message = `S3 ${request.action}: ${code}${told === '' ? '' : `: ${told}`}`.slice(0, 1000)
  return new S3Error(message, { status: status < 300 ? 500 : status, code, region, storeTime })
}

/** Returns the error of an answer that a load balancer or proxy gave, such as a page. A store that ignores ranges is not distinguishable from it. */
function foreign({ action }: S3Call, { status, headers }: Received): S3Error {
  const type = headers['content-type'] === undefined ? '' : ` with ${headers['content-type'].slice(0, 100)}`
  const code = action === 'GetObject' && status === 200 ? RANGE_IGNORED : 'NoAnswer'
  return new S3Error(`S3 ${action}: no answer of a store: status ${status}${type}`, { status: 0, code })
}

/** Reads at most `max` bytes and drops the connection if there are more, because a store may ignore a range. */
async function readUpTo(answer: Awaited<ReturnType<ReturnType<typeof nodeTransport>>>, max: number): Promise<Buffer> {
  const parts: Uint8Array[] = []
  let length = 0
  for await (const part of answer.body) {
    parts.push(part)
    length += part.byteLength
    if (length <= max) continue
    answer.disconnect()
    break
  }
  return Buffer.concat(parts, Math.min(length, max))
}
