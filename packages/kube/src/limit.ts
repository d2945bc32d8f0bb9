import type { Clock } from '@windlass/kit'

export interface RateLimit {
  /** Resolves when the next call may be made. Urgent calls (deletes) overtake the others. */
  pass(urgent: boolean, signal?: AbortSignal): Promise<void>
}

export interface RateLimitOptions {
  /** Calls per second in the long run. */
  readonly qps: number
  /** Calls at once after a pause. */
  readonly burst: number
  readonly clock: Clock
}

interface Waiter {
  readonly admit: () => void
}

/** Returns a token bucket of `burst` tokens that fills at `qps`. It protects the API server, which has other clients too. */
export function rateLimit({ qps, burst, clock }: RateLimitOptions): RateLimit {
  const urgentQueue: Waiter[] = []
  const queue: Waiter[] = []
  let tokens = burst
  let filledAt = clock.monotonic()
  let pumping = false

  function fill(): void {
    const now = clock.monotonic()
    tokens = Math.min(burst, tokens + ((now - filledAt) / 1000) * qps)
    filledAt = now
  }

  async function pump(): Promise<void> {
    pumping = true
    for (;;) {
      fill()
      while (tokens >= 1) {
        const next = urgentQueue.shift() ?? queue.shift()
        if (next === undefined) {
          pumping = false
          return
        }
        tokens -= 1
        next.admit()
      }
      await clock.sleep(Math.max(1, ((1 - tokens) / qps) * 1000))
    }
  }

  return {
    async pass(urgent, signal) {
      signal?.throwIfAborted()
      fill()
      if (tokens >= 1 && !pumping) {
        tokens -= 1
        return
      }
      const { promise, resolve } = Promise.withResolvers<void>()
      ;(urgent ? urgentQueue : queue).push({ admit: resolve })
      if (!pumping) void pump()
      await promise
      signal?.throwIfAborted()
    },
  }
}
