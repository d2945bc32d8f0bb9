/** A work queue by key: each key is processed by one worker at a time, several keys concurrently, and failures are retried with backoff. */
import { backoffMs, isAbort, type Clock, type Logger } from '@windlass/kit'

export interface QueueOptions {
  readonly name: string
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
  /** Maximum number of keys processed at once. */
  readonly threads: number
  /** Reconciles one key. A returned number asks to be called again after so many milliseconds; an error is retried. */
  readonly work: (key: string) => Promise<number | void>
  /** Called for failures; the queue logs them itself. */
  readonly onFailure?: (key: string, error: unknown) => void
}

export interface Queue {
  /** Queues a key. A key that is queued already is processed once. */
  add(key: string): void
  /** Number of keys queued or in progress. */
  readonly size: number
  /** Number of keys whose last attempt failed. */
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
      log.warn({ err: error, queue: options.name, key, failures: count }, 'failed; will be retried')
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
