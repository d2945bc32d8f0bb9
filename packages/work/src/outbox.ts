/**
 * Sends the reports of the ledger until the other side acknowledges them: those of one key in order, those of different keys concurrently. A report
 * is removed after its acknowledgement, so it is sent again if the acknowledgement or the removal is lost.
 */
import { backoffMs, isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import type { Ledger, Report } from './ledger.ts'

/** Circumstances of one call that sends a report. */
export interface SendAttempt {
  /** 1 for the first attempt of this process. */
  readonly number: number
  readonly signal: AbortSignal
}

export interface OutboxOptions {
  readonly ledger: Ledger
  /** Resolves when the other side has the report. */
  readonly send: (report: Report, attempt: SendAttempt) => Promise<void>
  /** Whether the other side refused a report permanently. Such a report is dropped. */
  readonly isRefusal: (error: unknown) => boolean
  readonly clock: Clock
  readonly log: Logger
}

export interface Outbox {
  /** Signals that the ledger has a new report. */
  wake(): void
  /** Sends until the signal is aborted. Rejects if the ledger cannot be read or written. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when no report is unsent, or `run` has ended. */
  empty(): Promise<void>
}

/** Maximum number of concurrent calls. */
const AT_ONCE = 20

export function openOutbox(options: OutboxOptions): Outbox {
  return new LedgerOutbox(options)
}

class LedgerOutbox implements Outbox {
  readonly #options: OutboxOptions
  readonly #sending = new Set<string>()
  /** Number of failed attempts per key. Keys that failed go last, so that they do not delay the others. */
  readonly #failed = new Map<string, number>()
  /** Consecutive failures of any key. */
  #failures = 0
  #isPaused = false
  #isOver = false
  #news = Promise.withResolvers<void>()
  #empty: PromiseWithResolvers<void> | undefined
  readonly #broken = Promise.withResolvers<never>()

  constructor(options: OutboxOptions) {
    this.#options = options
    this.#broken.promise.catch(() => undefined)
  }

  wake(): void {
    this.#news.resolve()
  }

  async empty(): Promise<void> {
    if (this.#isOver || this.#options.ledger.unsentCount() === 0) return
    this.#empty ??= Promise.withResolvers()
    await this.#empty.promise
  }

  async run(signal: AbortSignal): Promise<void> {
    signal.addEventListener('abort', () => this.wake(), { once: true })
    const calls = new Set<Promise<void>>()
    try {
      while (!signal.aborted) {
        this.#news = Promise.withResolvers()
        for (const report of this.#isPaused ? [] : this.#next()) {
          const call = this.#send(report, signal).finally(() => calls.delete(call))
          calls.add(call)
        }
        if (this.#options.ledger.unsentCount() === 0) this.#declareEmpty()
        if (!signal.aborted) await Promise.race([this.#news.promise, this.#broken.promise])
      }
    } finally {
      await Promise.allSettled(calls)
      this.#isOver = true
      this.#declareEmpty()
    }
  }

  #declareEmpty(): void {
    this.#empty?.resolve()
    this.#empty = undefined
  }

  /** Returns reports for the free calls: first of keys that did not fail, then of the others. */
  #next(): Report[] {
    const { ledger } = this.#options
    const free = AT_ONCE - this.#sending.size
    if (free <= 0) return []
    const fresh = ledger.unsent(free, [...this.#sending, ...this.#failed.keys()])
    const again =
      fresh.length === free ? [] : ledger.unsent(free - fresh.length, [...this.#sending, ...fresh.map(({ key }) => key)])
    return [...fresh, ...again]
  }

  async #send(report: Report, signal: AbortSignal): Promise<void> {
    this.#sending.add(report.key)
    try {
      if (!(await this.#isSettled(report, signal))) return
      this.#options.ledger.sent(report)
      this.#failed.delete(report.key)
      this.#failures = 0
    } catch (error) {
      if (isFault(error, 'spool-full')) this.#handleFailure(report, error, signal)
      else this.#broken.reject(error)
    } finally {
      this.#sending.delete(report.key)
      this.wake()
    }
  }

  /** Makes one call. Returns true if the other side has the report or does not want it. */
  async #isSettled(report: Report, signal: AbortSignal): Promise<boolean> {
    const { send, isRefusal, log } = this.#options
    try {
      await send(report, { number: (this.#failed.get(report.key) ?? 0) + 1, signal })
      return true
    } catch (error) {
      if (isRefusal(error)) log.warn({ err: error, key: report.key }, 'the platform refused a report; it is dropped')
      else this.#handleFailure(report, error, signal)
      return isRefusal(error)
    }
  }

  /** Pauses all calls, because most failures concern the other side and not one report. */
  #handleFailure(report: Report, error: unknown, signal: AbortSignal): void {
    const { clock, log, ledger } = this.#options
    if (isAbort(error) && signal.aborted) return
    this.#failed.set(report.key, (this.#failed.get(report.key) ?? 0) + 1)
    this.#failures += this.#isPaused ? 0 : 1
    log.warn({ err: error, key: report.key, unsent: ledger.unsentCount() }, 'cannot send a report; retrying')
    if (this.#isPaused) return
    this.#isPaused = true
    const resume = (): void => {
      this.#isPaused = false
      this.wake()
    }
    clock.sleep(retryDelayMs(error, this.#failures), signal).then(resume, resume)
  }
}

/**
 * Returns the delay before the next call after a number of consecutive failures. Milliseconds. It is 1 s, doubled each time up to 30 s, or what the
 * other side asked for (`retryAfterMs` of a fault, at most 300 s) if that is longer.
 */
export function retryDelayMs(error: unknown, failures: number): number {
  const asked = isFault(error) ? Number(error.details['retryAfterMs']) : Number.NaN
  const own = backoffMs({ baseMs: 1_000, maxMs: 30_000 }, failures)
  return Number.isFinite(asked) ? Math.max(own, Math.min(asked, 300_000)) : own
}
