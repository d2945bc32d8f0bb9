/** HTTP calls to a cloud, with a timeout, retries with backoff for throttling and outages, and the message of the provider in faults. */
import { isRecord, parseJson } from '@windlass/kit/json'
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
import type { z } from 'zod'

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
  /** True for a metadata service. It is on the node or does not exist, and then its address often swallows all packets. */
  readonly isMetadata?: boolean
}

const CALL_MS = 20_000
/** Largest answer. A job chooses some of the servers. Bytes. */
const MAX_ANSWER = 16 * 1_048_576
const RETRY = { tries: 5, baseMs: 200, maxMs: 5_000 } as const
/** Time to connect with a metadata service, for its answer, and from which on it is not tried again. Milliseconds. */
const METADATA = { connectMs: 2_000, callMs: 10_000, retryMs: 3_000 } as const
let transport: ReturnType<typeof nodeTransport> | undefined
let metadataTransport: ReturnType<typeof nodeTransport> | undefined

/**
 * Makes one call and returns the body. Throws `storage-unreachable` when all attempts have failed, and `storage-refused` with code and
 * message for other errors. A metadata service that does not answer is tried twice, and one that fails fast as often as others.
 */
export async function callCloud(clock: Clock, call: CloudCall, signal: AbortSignal): Promise<string> {
  const startedAt = clock.monotonic()
  const mayRetry = (): boolean => call.isMetadata !== true || clock.monotonic() - startedAt < METADATA.retryMs
  const retryIf = (error: unknown): boolean => isFault(error, 'storage-unreachable') && mayRetry()
  return retry({ ...RETRY, clock, signal, retryIf }, async () => {
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

function answerOf(
  { provider, action, request, isMetadata = false }: CloudCall,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  const toFault = (why: string, cause: unknown): Fault =>
    fault('storage-unreachable', { message: `${provider} ${action}: no answer: ${why}` }, cause)
  const tooLarge = (): Fault =>
    fault('storage-refused', { message: `${provider} ${action}: the answer has more than ${MAX_ANSWER} bytes` })
  const send = async (): Promise<{ status: number; body: string }> => {
    const made = typeof request === 'function' ? await request() : request
    // Opened at the first call, because a wrong setting of a proxy must not end the process.
    const open = isMetadata
      ? (metadataTransport ??= nodeTransport({ connectMs: METADATA.connectMs }))
      : (transport ??= nodeTransport())
    const response = await open({ ...made, signal, timeoutMs: isMetadata ? METADATA.callMs : CALL_MS })
    return { status: response.status, body: await readText(response.body, MAX_ANSWER, tooLarge) }
  }
  return orFault(send, { signal, toFault })
}

/**
 * Parses the JSON of an answer. Throws `storage-refused` for another one, such as the page of a proxy, without quoting it: answers have tokens.
 */
export function parseAnswer<T>(shape: z.ZodType<T>, provider: string, text: string): T {
  const { data, success } = shape.safeParse(parseJson(text))
  if (!success) throw fault('storage-refused', { message: `${provider} sent an answer that is not that of its API.` })
  return data
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
