import { fault, isFault, type Clock } from '@windlass/kit'

export interface RateLimit {
  /**
   * Makes a call of this caller, an address or the name of a user. Throws `rate-limited` if too many of its calls failed within the window. A call counts while
   * it runs, so that concurrent guesses are limited too, and afterwards only if its credential was wrong.
   */
  run<T>(caller: string, call: () => Promise<T>): Promise<T>
}

const MINUTE_MS = 60_000
const MAX_CALLERS = 10_000

interface Window {
  readonly since: number
  count: number
}

/** Limits the failed calls per window and caller. Counts are kept per process: this slows down guessing and is not a quota. */
export function openRateLimit(clock: Clock, failures: number, windowMs = MINUTE_MS): RateLimit {
  const windows = new Map<string, Window>()
  return {
    async run(caller, call) {
      const window = take(caller)
      try {
        const result = await call()
        window.count -= 1
        return result
      } catch (error) {
        if (!isFault(error, 'unauthenticated', 'bootstrap-code', 'bootstrap-closed')) window.count -= 1
        throw error
      }
    },
  }

  function take(caller: string): Window {
    const now = clock.monotonic()
    let window = windows.get(caller)
    if (window === undefined || now - window.since >= windowMs) {
      windows.delete(caller)
      // The oldest window is the first one. Forgetting only it, guesses with many names cannot reset the count of one name.
      const [oldest] = windows.size >= MAX_CALLERS ? windows.keys() : []
      if (oldest !== undefined) windows.delete(oldest)
      window = { since: now, count: 0 }
      windows.set(caller, window)
    }
    if (window.count >= failures) throw fault('rate-limited', { retryAfter: Math.ceil((window.since + windowMs - now) / 1000) })
    window.count += 1
    return window
  }
}
