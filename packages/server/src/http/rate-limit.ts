import { fault, isFault, type Clock } from '@windlass/kit'

export interface RateLimit {
  /**
   * Makes a call of this address. Throws `rate-limited` if too many of its calls failed within a minute. A call counts while it runs, so that concurrent
   * guesses are limited too, and afterwards only if its credential was wrong.
   */
  run<T>(address: string, call: () => Promise<T>): Promise<T>
}

const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

interface Window {
  readonly since: number
  count: number
}

/** Limits the failed calls per minute and address. Counts are kept per process: this slows down guessing and is not a quota. */
export function openRateLimit(clock: Clock, perMinute: number): RateLimit {
  const windows = new Map<string, Window>()
  return {
    async run(address, call) {
      const window = take(address)
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

  function take(address: string): Window {
    const now = clock.monotonic()
    let window = windows.get(address)
    if (window === undefined || now - window.since >= WINDOW_MS) {
      if (windows.size >= MAX_ADDRESSES) windows.clear()
      window = { since: now, count: 0 }
      windows.set(address, window)
    }
    if (window.count >= perMinute) throw fault('rate-limited', { retryAfter: Math.ceil((window.since + WINDOW_MS - now) / 1000) })
    window.count += 1
    return window
  }
}
