/** Sends the reports of the ledger until the platform has them. */
import { backoffMs, isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import type { Ledger, Report } from './ledger.ts'
import type { Platform } from './platform.ts'

export interface OutboxOptions {
  readonly ledger: Ledger
  readonly platform: Platform
  readonly clock: Clock
  readonly log: Logger
}

export interface Outbox {
  /** Says that the ledger has a new report. */
  wake(): void
  /** Sends until the signal is aborted. */
  run(signal: AbortSignal): Promise<void>
  /** Resolves when the platform has every report. */
  empty(): Promise<void>
}

/** Reports on their way at once. */
const AT_ONCE = 20

export function openOutbox({ ledger, platform, clock, log }: OutboxOptions): Outbox {
  let news = Promise.withResolvers<void>()
  let empty = Promise.withResolvers<void>()

  /** The platform has it, or will never take it. Throws what may pass. */
  async function send(report: Report, signal: AbortSignal): Promise<void> {
    try {
      await platform.report(report.taskId, report.status, signal)
    } catch (error) {
      if (!isFault(error, 'request-invalid', 'not-found')) throw error
      log.warn({ err: error, taskId: report.taskId }, 'the platform does not want a report')
    }
    ledger.sent(report)
  }

  async function sendSome(reports: readonly Report[], signal: AbortSignal): Promise<void> {
    const results = await Promise.allSettled(reports.map((report) => send(report, signal)))
    const failed = results.filter((result) => result.status === 'rejected').map(({ reason }): unknown => reason)
    if (failed.length > 0) throw failed[0]
  }

  return {
    wake() {
      if (ledger.unsentCount() > 0) empty = Promise.withResolvers<void>()
      news.resolve()
    },
    async run(signal) {
      signal.addEventListener('abort', () => news.resolve(), { once: true })
      for (let failures = 0; !signal.aborted;) {
        news = Promise.withResolvers<void>()
        const reports = ledger.unsent(AT_ONCE)
        if (reports.length === 0) {
          empty.resolve()
          if (!signal.aborted) await news.promise
          continue
        }
        try {
          await sendSome(reports, signal)
          failures = 0
        } catch (error) {
          if (isAbort(error)) continue
          failures += 1
          log.warn({ err: error, waiting: ledger.unsentCount() }, 'reports not sent')
          await clock.sleep(pauseMs(error, failures), signal).catch(() => undefined)
        }
      }
    },
    empty: () => empty.promise,
  }
}

/** How long to leave the platform alone after a failure: as it asks, else 1 s and twice as long each time up to 30 s. */
export function pauseMs(error: unknown, failures: number): number {
  const asked = isFault(error) ? Number(error.details['retryAfterMs']) : Number.NaN
  const own = backoffMs({ baseMs: 1_000, maxMs: 30_000 }, failures)
  return Number.isFinite(asked) ? Math.max(own, Math.min(asked, 300_000)) : own
}
