import { setTimeout as delay } from 'node:timers/promises'

/** Time as everything but this file sees it, so that tests and chaos runs can turn it. */
export interface Clock {
  /** Wall time, epoch milliseconds. Never compared between machines. */
  now(): number
  /** Milliseconds of a clock that never jumps; for durations and timeouts. */
  monotonic(): number
  /** Resolves after `ms`; rejects with the signal's reason when aborted. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>
}

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  sleep: async (ms, signal) => {
    await delay(ms, undefined, { signal: signal ?? undefined }).catch((error: unknown) => {
      signal?.throwIfAborted()
      throw error
    })
  },
}

export interface ManualClock extends Clock {
  /** Moves both clocks forward and wakes the sleepers whose time has come. */
  advance(ms: number): void
  /** Jumps the wall clock alone, as an operator or NTP would. */
  setNow(now: number): void
}

/** A clock that stands still until told: `manualClock(0).advance(1000)`. */
export function manualClock(start = 0): ManualClock {
  let wall = start
  let steady = 0
  const sleepers = new Set<{ at: number; wake: () => void }>()
  return {
    now: () => wall,
    monotonic: () => steady,
    sleep(ms, signal) {
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
