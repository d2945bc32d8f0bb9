/** HTTP to a cloud: a time limit, few tries with backoff for throttling and outages, and the provider's own words in faults. */
import { fault, isFault, retry, type Clock } from '@windlass/kit'

export interface CloudCall {
  /** Who is asked, for messages: `EC2`, `Compute Engine`, `Azure`. */
  readonly provider: string
  /** What is asked for, such as `CreateVolume`. */
  readonly action: string
  readonly send: (signal: AbortSignal) => Promise<Response>
  /** The provider's code and sentence in an error body. */
  readonly readError: (body: string) => { readonly code: string; readonly message: string }
  /** Codes of errors that time mends besides 429 and 5xx. */
  readonly passing?: readonly string[]
}

const CALL_MS = 20_000
const TRIES = { tries: 5, baseMs: 200, maxMs: 5_000 } as const

/** One call; answers the body. Throws `storage-unreachable` when the tries are used up, `storage-refused` with code and words otherwise. */
export async function callCloud(clock: Clock, call: CloudCall, signal: AbortSignal): Promise<string> {
  return retry({ ...TRIES, clock, signal, retryIf: (error) => isFault(error, 'storage-unreachable') }, async () => {
    const { status, body } = await answerOf(call, signal)
    if (status < 300) return body
    const { code, message } = call.readError(body)
    const details = {
      message: `${call.provider} ${call.action}: ${code}: ${message}`.slice(0, 1000),
      providerCode: code,
      httpStatus: status,
    }
    const isPassing = status === 429 || status >= 500 || call.passing?.includes(code) === true
    throw fault(isPassing ? 'storage-unreachable' : 'storage-refused', details)
  })
}

async function answerOf(call: CloudCall, signal: AbortSignal): Promise<{ status: number; body: string }> {
  try {
    const response = await call.send(AbortSignal.any([signal, AbortSignal.timeout(CALL_MS)]))
    return { status: response.status, body: await response.text() }
  } catch (error) {
    signal.throwIfAborted()
    if (isFault(error)) throw error
    const words = error instanceof Error ? error.message : String(error)
    throw fault('storage-unreachable', { message: `${call.provider} ${call.action}: no answer: ${words}` }, error)
  }
}

/** True when the provider refused with one of these codes. */
export function isRefusedWith(error: unknown, ...codes: readonly string[]): boolean {
  return isFault(error, 'storage-refused') && codes.includes(String(error.details['providerCode']))
}

/** Error bodies of JSON APIs: `{error: {code|status, message}}` (Google, Azure) or `{error, error_description}` (OAuth). */
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

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
