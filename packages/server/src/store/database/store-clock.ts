/**
 * The time that this server uses for all rows and timeouts: the time of the database, so that servers with different clocks agree. It is read
 * periodically; in between it advances with the monotonic clock of this process, so that no call costs a round trip.
 */
import type { Clock } from '@windlass/kit'

export interface StoreClock extends Clock {
  /** Reads the time of the database again. Throws if the database does not answer; the time then continues from the last reading. */
  measure(): Promise<void>
}

/** Opens the clock. `read` returns the time of the database in epoch milliseconds; without it, the clock of this process is used. */
export function openStoreClock(clock: Clock, read: (() => Promise<number>) | undefined): StoreClock {
  if (read === undefined) return { ...clock, measure: async () => undefined }
  let base = { now: clock.now(), steady: clock.monotonic() }
  const now = (): number => Math.round(base.now + clock.monotonic() - base.steady)
  return {
    now,
    monotonic: () => clock.monotonic(),
    sleep: (ms, signal) => clock.sleep(ms, signal),
    async measure() {
      const before = clock.monotonic()
      const databaseTime = await read()
      const after = clock.monotonic()
      const middle = (before + after) / 2
      const error = databaseTime - (base.now + middle - base.steady)
      // Ignores a difference that the latency of the query can explain.
      if (Math.abs(error) > (after - before) / 2 + 1) base = { now: databaseTime, steady: middle }
    },
  }
}
