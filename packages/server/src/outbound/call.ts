/** Calls of services that users name: forges and receivers of notifications. */
import type { IncomingHttpHeaders } from 'node:http'
import { exchange, isFault, readText } from '@windlass/kit'
import type { App } from '../app.ts'
import { guardedAddress } from './guarded-address.ts'

export interface OutboundCall {
  readonly url: URL
  /** Default: POST with a body, else GET. */
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string
}

/** The answer of a service, or why there is none. Messages contain the host and never the URL, which can be a secret. */
export type Answer =
  | { readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string; readonly problem?: undefined }
  /** `mayRetry`: a later call can succeed. `afterMs`: how long the service asks to wait. */
  | {
      readonly status?: number
      /** Of a response other than 2xx. */
      readonly body?: string
      readonly problem: string
      readonly mayRetry: boolean
      readonly afterMs: number
    }

const TIMEOUT_MS = 15_000
const MAX_RETRY_AFTER_MS = 3_600_000
const DEFAULT_MAX_BYTES = 1_048_576

/**
 * Makes one call, to public addresses and those that the settings allow. Does not follow redirects, which could lead the credentials elsewhere. Resolves
 * with the reason if it fails; throws only if the server closes, with an `AbortError`.
 */
export async function callOut(app: App, call: OutboundCall, maxBytes: number = DEFAULT_MAX_BYTES): Promise<Answer> {
  const { url, headers, body } = call
  if (url.protocol !== 'https:' && url.protocol !== 'http:')
    return refused(`The URL of ${url.hostname} is not one of http or https.`)
  const to = guardedAddress(url, app.outbound)
  if (to === undefined) return refused(`The server may not connect to ${url.hostname}.`)
  const method = call.method ?? (body === undefined ? 'GET' : 'POST')
  try {
    // Without kept connections, because a proxy would connect to an address that was not checked.
    const response = await exchange({ to, agent: false, method, headers, body, timeoutMs: TIMEOUT_MS, signal: app.closing })
    const text = await readText(response, maxBytes, () => new TooLarge())
    return toAnswer(response.statusCode ?? 0, { text, headers: response.headers, host: url.hostname, now: app.clock.now() })
  } catch (error) {
    if (app.closing.aborted || isFault(error)) throw error
    if (error instanceof TooLarge) return refused(`The answer of ${url.hostname} is larger than ${maxBytes} bytes.`)
    // The cause would tell which hosts and ports exist.
    return { problem: `${url.hostname} cannot be reached, or no setting allows its address.`, mayRetry: true, afterMs: 0 }
  }
}

class TooLarge extends Error {}

function refused(problem: string): Answer {
  return { problem, mayRetry: false, afterMs: 0 }
}

interface Received {
  readonly text: string
  readonly headers: IncomingHttpHeaders
  readonly host: string
  readonly now: number
}

/** Refusals are final, except those that ask for patience. */
function toAnswer(status: number, { text, headers, host, now }: Received): Answer {
  if (status >= 200 && status < 300) return { status, headers, body: text }
  const patience = patienceOf(headers, now)
  const isLimited = status === 403 && (patience > 0 || /rate limit/i.test(text))
  const mayRetry = status >= 500 || status === 408 || status === 429 || isLimited
  const afterMs = Math.min(patience, MAX_RETRY_AFTER_MS)
  return { status, body: text, problem: `${host} answered ${status}.`, mayRetry, afterMs }
}

/** Returns how long a service asks to wait: `Retry-After`, or the time at which the limit of a forge ends. Milliseconds. */
function patienceOf(headers: IncomingHttpHeaders, now: number): number {
  const seconds = Number(headers['retry-after'])
  if (seconds > 0) return seconds * 1000
  const isUsedUp = headers['x-ratelimit-remaining'] === '0'
  return isUsedUp ? Math.max(0, Number(headers['x-ratelimit-reset'] ?? 0) * 1000 - now) || 0 : 0
}
