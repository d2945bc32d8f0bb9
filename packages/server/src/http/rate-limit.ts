import { fault, type Clock } from '@windlass/kit'

export interface RateLimit {
  /** Counts a call of this address; throws `rate-limited` when it had too many in the last minute. */
  take(address: string): void
}

const WINDOW_MS = 60_000
const MAX_ADDRESSES = 10_000

/** So many calls a minute for each address. Counted in this process alone: it slows guessing down, it is not a quota. */
export function openRateLimit(clock: Clock, perMinute: number): RateLimit {
  const calls = new Map<string, { since: number; count: number }>()
  return {
    take(address) {
      const now = clock.monotonic()
      const window = calls.get(address)
      if (window === undefined || now - window.since >= WINDOW_MS) {
        if (calls.size >= MAX_ADDRESSES) calls.clear()
        calls.set(address, { since: now, count: 1 })
        return
      }
      window.count += 1
      if (window.count > perMinute)
        throw fault('rate-limited', { retryAfter: Math.ceil((window.since + WINDOW_MS - now) / 1000) })
    },
  }
}
