import type { Clock } from '@windlass/kit'

export interface Rate {
  readonly perSecond: number
  /** What may be taken at once after a rest. */
  readonly burst: number
}

/** Known callers. The oldest one is forgotten first. */
const MAX_CALLERS = 10_000

interface Bucket {
  left: number
  at: number
}

/** Limits calls by caller, with a bucket of tokens each. Counts are kept per process. */
export class Buckets {
  readonly #clock: Clock
  readonly #rate: Rate
  readonly #buckets = new Map<string, Bucket>()

  constructor(clock: Clock, rate: Rate) {
    this.#clock = clock
    this.#rate = rate
  }

  /** Takes one. Returns 0, or the seconds after which the caller may try again. */
  take(caller: string): number {
    const now = this.#clock.monotonic()
    const known = this.#buckets.get(caller)
    const bucket = known ?? { left: this.#rate.burst, at: now }
    if (known === undefined) this.#add(caller, bucket)
    bucket.left = Math.min(this.#rate.burst, bucket.left + ((now - bucket.at) / 1000) * this.#rate.perSecond)
    bucket.at = now
    if (bucket.left < 1) return Math.max(1, Math.ceil((1 - bucket.left) / this.#rate.perSecond))
    bucket.left -= 1
    return 0
  }

  #add(caller: string, bucket: Bucket): void {
    const [oldest] = this.#buckets.size >= MAX_CALLERS ? this.#buckets.keys() : []
    if (oldest !== undefined) this.#buckets.delete(oldest)
    this.#buckets.set(caller, bucket)
  }
}

/** Returns a function that takes bytes and returns the milliseconds to wait before the next ones, so that the average stays below `perSecond`. */
export function slowdown(clock: Clock, perSecond: number): (bytes: number) => number {
  /** Time at which everything that was taken would be sent. */
  let until = 0
  return (bytes) => {
    const now = clock.monotonic()
    until = Math.max(until, now) + (bytes / perSecond) * 1000
    // A second ahead is the burst.
    return Math.max(0, until - now - 1000)
  }
}
