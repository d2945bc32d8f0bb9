import type { Clock } from '@windlass/kit'

export type RecordedClock<C extends Clock> = C & {
  /** All requested sleeps in milliseconds, oldest first. */
  readonly pauses: number[]
}

/**
 * A clock that records the requested duration of each `sleep`. A test then checks the requested durations, which do not depend on the load of the
 * machine.
 */
export function recordPauses<C extends Clock>(clock: C): RecordedClock<C> {
  const pauses: number[] = []
  return {
    ...clock,
    pauses,
    sleep(ms: number, signal?: AbortSignal) {
      pauses.push(ms)
      return clock.sleep(ms, signal)
    },
  }
}

/** A clock for one loop at a time. `sleep` advances it and returns after pending I/O had its turn. */
export function skippingClock(start = 0): Clock {
  let passed = 0
  return {
    now: () => start + passed,
    monotonic: () => passed,
    async sleep(ms, signal) {
      signal?.throwIfAborted()
      passed += ms
      await new Promise((resolve) => setImmediate(resolve))
      signal?.throwIfAborted()
    },
  }
}
