/** HTTP calls to a cloud, with a timeout, retries with backoff for throttling and outages, and the message of the provider in faults. */
import { isRecord } from '@windlass/kit/json'
import {
  fault,
  isFault,
  nodeTransport,
  orFault,
  readText,
  retry,
  type Clock,
  type Fault,
  type TransportRequest,
} from '@windlass/kit'

export type CloudRequest = Pick<TransportRequest, 'method' | 'url' | 'headers' | 'body'>

export interface CloudCall {
  /** Name for messages: `EC2`, `Compute Engine`, `Azure`. */
  readonly provider: string
  /** The called action, such as `CreateVolume`. */
  readonly action: string
  /** The request, or a function that makes it again for each attempt. */
  readonly request: CloudRequest | (() => Promise<CloudRequest>)
  /** Reads the code and message of an error body. */
  readonly readError: (body: string) => { readonly code: string; readonly message: string }
  /** Codes of errors that are retried in addition to 429 and 5xx. */
  readonly retriable?: readonly string[]
}

const CALL_MS = 20_000
/** Largest answer. A job chooses some of the servers. Bytes. */
const MAX_ANSWER = 16 * 1_048_576
const RETRY = { tries: 5, baseMs: 200, maxMs: 5_000 } as const
let transport: ReturnType<typeof nodeTransport> | undefined

/**
 * Makes one call and returns the body. Throws `storage-unreachable` when all attempts have failed, and `storage-refused` with code and
 * message for other errors.
 */
export async function callCloud(clock: Clock, call: CloudCall, signal: AbortSignal): Promise<string> {
  return retry({ ...RETRY, clock, signal, retryIf: (error) => isFault(error, 'storage-unreachable') }, async () => {
    const { status, body } = await answerOf(call, signal)
    if (status < 300) return body
    const { code, message } = call.readError(body)
    const details = {
      message: `${call.provider} ${call.action}: ${code}: ${message}`.slice(0, 1000),
      providerCode: code,
      httpStatus: status,
    }
    const isRetriable = status === 429 || status >= 500 || call.retriable?.includes(code) === true
    throw fault(isRetriable ? 'storage-unreachable' : 'storage-refused', details)
  })
}

function answerOf({ provider, action, request }: CloudCall, signal: AbortSignal): Promise<{ status: number; body: string }> {
  const toFault = (why: string, cause: unknown): Fault =>
    fault('storage-unreachable', { message: `${provider} ${action}: no answer: ${why}` }, cause)
  const tooLarge = (): Fault =>
    fault('storage-refused', { message: `${provider} ${action}: the answer has more than ${MAX_ANSWER} bytes` })
  const send = async (): Promise<{ status: number; body: string }> => {
    const made = typeof request === 'function' ? await request() : request
    // Opened at the first call, because a wrong setting of a proxy must not end the process.
    transport ??= nodeTransport()
    const response = await transport({ ...made, signal, timeoutMs: CALL_MS })
    return { status: response.status, body: await readText(response.body, MAX_ANSWER, tooLarge) }
  }
  return orFault(send, { signal, toFault })
}

/** Returns a POST of a form. */
export function postForm(url: string, fields: Readonly<Record<string, string>>): CloudRequest {
  const headers = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
  return { method: 'POST', url, headers, body: new URLSearchParams(fields).toString() }
}

/** Returns true if the provider refused with one of these codes. */
export function isRefusedWith(error: unknown, ...codes: readonly string[]): boolean {
  return isFault(error, 'storage-refused') && codes.includes(String(error.details['providerCode']))
}

/** Reads error bodies of JSON APIs: `{error: {code|status, message}}` (Google, Azure) or `{error, error_description}` (OAuth). */
export function readJsonError(body: string): { code: string; message: string } {
  try {
    const parsed: unknown = JSON.parse(body)
    const outer = isRecord(parsed) ? parsed : {}
    const inner = isRecord(outer['error']) ? outer['error'] : outer
    const reasons = Array.isArray(inner['errors']) && isRecord(inner['errors'][0]) ? inner['errors'][0]['reason'] : undefined
    const code = reasons ?? inner['code'] ?? inner['error'] ?? inner['status'] ?? 'error'
    return { code: textOf(code) ?? 'error', message: textOf(inner['message'] ?? inner['error_description']) ?? body }
  } catch {
    return { code: 'error', message: body.slice(0, 300) }
  }
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}
