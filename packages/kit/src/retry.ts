import type { Clock } from './clock.ts'

export interface Backoff {
  /** First delay, milliseconds. */
  readonly baseMs: number
  /** Longest delay, milliseconds. */
  readonly maxMs: number
  /** How many tries in all; unlimited when absent. */
  readonly tries?: number
}

/** Delay before try `n` (1 = first repeat): exponential with full jitter, so that clients do not come back in step. */
export function backoffMs(backoff: Backoff, n: number, random: () => number = Math.random): number {
  const ceiling = Math.min(backoff.maxMs, backoff.baseMs * 2 ** Math.min(n - 1, 30))
  return Math.round(ceiling * (0.5 + random() / 2))
}

export interface RetryOptions extends Backoff {
  readonly clock: Clock
  readonly signal?: AbortSignal | undefined
  /** Whether this error is worth another try; all are when absent. */
  readonly retryIf?: (error: unknown) => boolean
  readonly onRetry?: (error: unknown, delayMs: number) => void
}

/** Calls `work` until it succeeds; throws its last error when tries are used up, or the signal's reason. */
export async function retry<T>(options: RetryOptions, work: (attempt: number) => Promise<T>): Promise<T> {
  for (let n = 1; ; n += 1) {
    options.signal?.throwIfAborted()
    try {
      return await work(n)
    } catch (error) {
      const last = options.tries !== undefined && n >= options.tries
      if (last || options.signal?.aborted === true || options.retryIf?.(error) === false) throw error
      const delayMs = backoffMs(options, n)
      options.onRetry?.(error, delayMs)
      await options.clock.sleep(delayMs, options.signal)
    }
  }
}
