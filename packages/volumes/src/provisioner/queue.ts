/** Work by key: each key is worked on once at a time, several keys side by side, failures come back later with backoff. */
import { backoffMs, isAbort, type Clock, type Logger } from '@windlass/kit'

export interface QueueOptions {
  readonly name: string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  /** How many keys at a time. */
  readonly threads: number
  /** Brings one key in order. A number asks to be called again after so many milliseconds; what it throws is tried again. */
  readonly work: (key: string) => Promise<number | void>
  /** Hears of failures; they are logged by the queue. */
  readonly onFailure?: (key: string, error: unknown) => void
}

export interface Queue {
  /** Asks for a key to be worked on; asked twice before that, it is worked on once. */
  add(key: string): void
  /** Keys that wait or are worked on. */
  readonly size: number
  /** Keys whose last try failed. */
  readonly failing: number
}

const RETRY = { baseMs: 250, maxMs: 60_000 } as const

export function openQueue(options: QueueOptions): Queue {
  const { clock, log, signal, threads } = options
  const waiting = new Set<string>()
  const running = new Set<string>()
  const failures = new Map<string, number>()

  async function later(key: string, ms: number): Promise<void> {
    await clock.sleep(ms, signal).catch(() => undefined)
    if (!signal.aborted) add(key)
  }

  async function run(key: string): Promise<void> {
    try {
      const again = await options.work(key)
      failures.delete(key)
      if (typeof again === 'number') void later(key, again)
    } catch (error) {
      if (signal.aborted || isAbort(error)) return
      const count = (failures.get(key) ?? 0) + 1
      failures.set(key, count)
      log.warn({ err: error, queue: options.name, key, failures: count }, 'will be tried again')
      options.onFailure?.(key, error)
      void later(key, backoffMs(RETRY, count))
    } finally {
      running.delete(key)
      pump()
    }
  }

  function pump(): void {
    for (const key of waiting) {
      if (running.size >= threads || signal.aborted) return
      if (running.has(key)) continue
      waiting.delete(key)
      running.add(key)
      void run(key)
    }
  }

  function add(key: string): void {
    waiting.add(key)
    pump()
  }

  return {
    add,
    get size() {
      return waiting.size + running.size
    },
    get failing() {
      return failures.size
    },
  }
}
