import { setTimeout as delay } from 'node:timers/promises'

/** Source of time. All code except this file uses it, so that tests and chaos runs can control time. */
export interface Clock {
  /** Wall time, epoch milliseconds. Never compared between machines. */
  now(): number
  /** Monotonic time, milliseconds; for durations and timeouts. */
  monotonic(): number
  /** Resolves after `ms`. Rejects with the signal's reason if the signal is aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

/** Longest delay of a timer of Node, which ends a longer one at once. Milliseconds. */
const MAX_DELAY_MS = 2 ** 31 - 1

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  async sleep(ms, signal) {
    for (let left = ms; ; left -= MAX_DELAY_MS) {
      await delay(Math.min(left, MAX_DELAY_MS), undefined, { signal: signal ?? undefined }).catch((error: unknown) => {
        signal?.throwIfAborted()
        throw error
      })
      if (left <= MAX_DELAY_MS) return
    }
  },
}

export interface ManualClock extends Clock {
  /** Moves both clocks forward and resolves the sleeps that are due. */
  advance(ms: number): void
  /** Sets only the wall clock, as an operator or NTP would. */
  setNow(now: number): void
}

/** Returns a clock that moves only when told to: `manualClock(0).advance(1000)`. */
export function manualClock(start = 0): ManualClock {
  let wall = start
  let steady = 0
  const sleepers = new Set<{ at: number; wake: () => void }>()
  return {
    now: () => wall,
    monotonic: () => steady,
    sleep(ms, signal) {
      if (signal?.aborted === true) return Promise.reject(signal.reason)
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const sleeper = { at: steady + ms, wake: resolve }
      sleepers.add(sleeper)
      signal?.addEventListener('abort', () => {
        sleepers.delete(sleeper)
        reject(signal.reason)
      })
      return promise
    },
    advance(ms) {
      wall += ms
      steady += ms
      for (const sleeper of [...sleepers].filter(({ at }) => at <= steady)) {
        sleepers.delete(sleeper)
        sleeper.wake()
      }
    },
    setNow(now) {
      wall = now
    },
  }
}
