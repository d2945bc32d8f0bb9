/** When a call to the coordinator is repeated, and how long to wait before it. Rules of the runner API of GitLab. */
import type { IncomingHttpHeaders } from 'node:http'
import { backoffMs } from '@windlass/kit'

/** Number of tries of a call, including the first one. */
export const TRIES = 5

const BACKOFF = { baseMs: 100, maxMs: 60_000 }
/** Longest wait that a header of the server can ask for. Milliseconds. */
const MAX_ASKED_MS = 60 * 60_000
const RETRIED: ReadonlySet<number> = new Set([408, 429, 500, 502, 503, 504])

/** Returns true for a status after which the same call may succeed. From 512 on statuses are those of proxies. */
export function isRetried(status: number): boolean {
  return RETRIED.has(status) || status >= 512
}

/**
 * Returns the delay before retry `n` (1 = first retry), milliseconds. `RateLimit-ResetTime`, an HTTP date, wins over `Retry-After`, a number of
 * seconds; otherwise the delay grows exponentially. `now` is the wall time in epoch milliseconds, for an answer without a `Date`.
 */
export function retryDelayMs(headers: IncomingHttpHeaders, n: number, now: number): number {
  return askedDelayMs(headers, now) ?? backoffMs(BACKOFF, n)
}

/** Returns the delay that a server asks for, at most an hour; undefined if it asks for none. Milliseconds. */
export function askedDelayMs(headers: IncomingHttpHeaders, now: number): number | undefined {
  const asked = resetMs(headers, now) ?? afterMs(headers)
  return asked === undefined ? undefined : Math.min(Math.max(asked, 0), MAX_ASKED_MS)
}

function resetMs(headers: IncomingHttpHeaders, now: number): number | undefined {
  const text = headers['ratelimit-resettime']
  const at = typeof text === 'string' ? Date.parse(text) : Number.NaN
  // The clock of the server is compared with itself where it says its time.
  const sentAt = Date.parse(headers.date ?? '')
  return Number.isNaN(at) ? undefined : at - (Number.isNaN(sentAt) ? now : sentAt)
}

function afterMs(headers: IncomingHttpHeaders): number | undefined {
  const text = headers['retry-after']
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) * 1000 : undefined
}
