/** Limits per caller: concurrent calls and their body bytes, and processing time of documents per minute. */
import { fault, type Clock } from '@windlass/kit'

const MINUTE_MS = 60_000
/** One caller may use at most this fraction (1/4) of the bytes of all callers. */
const CALLER_SHARE = 4
/** Number of stored callers above which expired entries are deleted. */
const MAX_CALLERS = 10_000

export interface CallerLimits {
  /** Maximum number of concurrent calls of one caller. */
  readonly callsAtOnce: number
  /** Maximum body bytes of the concurrent calls of all callers. One caller may use a quarter. The only body of a caller is always admitted. */
  readonly bytesAtOnce: number
  /** Maximum processing time of one caller per minute. Milliseconds. */
  readonly msPerMinute: number
}

export class Callers {
  private readonly clock: Clock
  private readonly limits: CallerLimits
  private readonly calls = new Map<string, { count: number; bytes: number }>()
  private bytes = 0
  private readonly spent = new Map<string, { since: number; ms: number }>()
  /** What is limited, for messages. */
  private readonly calledAs: string

  constructor(clock: Clock, limits: CallerLimits, calledAs = 'calls with documents') {
    this.clock = clock
    this.limits = limits
    this.calledAs = calledAs
  }

  /** Starts a call with a body of this size, or 0 without a body. The returned function ends it. Throws `rate-limited`. */
  enter(caller: string, bytes: number): () => void {
    const own = this.calls.get(caller) ?? { count: 0, bytes: 0 }
    const { callsAtOnce, bytesAtOnce } = this.limits
    const isFull = this.bytes + bytes > bytesAtOnce || own.bytes + bytes > bytesAtOnce / CALLER_SHARE
    if (bytes > 0 && own.bytes > 0 && isFull)
      throw fault('rate-limited', {
        message: `The server is already processing the maximum number of bytes of ${this.calledAs}.`,
        retryAfter: 1,
      })
    if (own.count >= callsAtOnce)
      throw fault('rate-limited', {
        message: `This key has ${own.count} concurrent ${this.calledAs}. At most ${callsAtOnce} are allowed.`,
        hint: 'Send the next one after one of them has finished.',
        retryAfter: 1,
      })
    this.checkTime(caller)
    this.add(caller, 1, bytes)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.add(caller, -1, -bytes)
    }
  }

  /** Throws `rate-limited` if the caller has used its processing time of the current minute. */
  checkTime(caller: string): void {
    const window = this.windowOf(caller)
    const { msPerMinute } = this.limits
    if (window === undefined || window.ms < msPerMinute) return
    throw fault('rate-limited', {
      message: `Documents of this key used ${msPerMinute / 1000} s of processing time within a minute.`,
      hint: 'Retry after the time in the Retry-After header, or send smaller or fewer documents.',
      retryAfter: Math.max(1, Math.ceil((window.since + MINUTE_MS - this.clock.monotonic()) / 1000)),
    })
  }

  private add(caller: string, count: number, bytes: number): void {
    const own = this.calls.get(caller) ?? { count: 0, bytes: 0 }
    this.bytes += bytes
    if (own.count + count === 0) this.calls.delete(caller)
    else this.calls.set(caller, { count: own.count + count, bytes: own.bytes + bytes })
  }

  /** Counts processing time of the caller. Milliseconds. */
  spend(caller: string, ms: number): void {
    const window = this.windowOf(caller)
    if (window !== undefined) window.ms += ms
    else this.spent.set(caller, { since: this.clock.monotonic(), ms })
  }

  private windowOf(caller: string): { since: number; ms: number } | undefined {
    const now = this.clock.monotonic()
    if (this.spent.size >= MAX_CALLERS)
      for (const [one, { since }] of this.spent) if (now - since >= MINUTE_MS) this.spent.delete(one)
    const window = this.spent.get(caller)
    if (window === undefined || now - window.since < MINUTE_MS) return window
    this.spent.delete(caller)
    return undefined
  }
}
