import type { Clock } from './clock.ts'
import { isFault } from './faults.ts'

export interface Backoff {
  /** First delay, milliseconds. */
  readonly baseMs: number
  /** Longest delay, milliseconds. */
  readonly maxMs: number
  /** Maximum number of tries. Default: unlimited. */
  readonly tries?: number
}

/** Returns the delay before retry `n` (1 = first retry), milliseconds: exponential with jitter, so that clients do not retry in lockstep. */
export function backoffMs(backoff: Backoff, n: number, random: () => number = Math.random): number {
  const ceiling = Math.min(backoff.maxMs, backoff.baseMs * 2 ** Math.min(n - 1, 30))
  return Math.round(ceiling * (0.5 + random() / 2))
}

/** Longest delay accepted from `Retry-After`. Milliseconds. */
const MAX_ASKED_MS = 60_000

/** Returns the delay before retry `n` after this error: `backoffMs`, or `Retry-After` of the response if that is longer. */
export function pauseMs(backoff: Backoff, n: number, error: unknown): number {
  const seconds = isFault(error) ? error.details['retryAfter'] : undefined
  const asked = typeof seconds === 'number' ? Math.min(seconds * 1000, MAX_ASKED_MS) : 0
  return Math.max(backoffMs(backoff, n), asked)
}

export interface RetryOptions extends Backoff {
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
  /** Returns whether to retry after this error. Default: always. */
  readonly retryIf?: (error: unknown) => boolean
  readonly onRetry?: (error: unknown, delayMs: number) => void
}

/** Calls `work` until it succeeds, with the delays of `pauseMs`. Throws the last error after the last try, or the signal's reason. */
export async function retry<T>(options: RetryOptions, work: (attempt: number) => Promise<T>): Promise<T> {
  for (let n = 1; ; n += 1) {
    options.signal?.throwIfAborted()
    try {
      return await work(n)
    } catch (error) {
      const last = options.tries !== undefined && n >= options.tries
      if (last || options.signal?.aborted === true || options.retryIf?.(error) === false) throw error
      const delayMs = pauseMs(options, n, error)
      options.onRetry?.(error, delayMs)
      await options.clock.sleep(delayMs, options.signal)
    }
  }
}
