/**
 * Reports the disks of builds to the server: all disks in one report, at most one per interval and one after each removal, and only if something has
 * changed or the last report is old. Reports are numbered and sent one at a time, so that the server can tell a late one.
 */
import { attempt as tick, sha256, type Clock, type Logger } from '@windlass/kit'
import type { AgentCalls } from '@windlass/client/agent'
import { MAX_REPORTED_DISKS, type DiskFacts, type DiskReport } from '@windlass/protocol'
import type { ExecutorDisks } from '../executor.ts'

export interface DiskReportOptions {
  readonly disks: ExecutorDisks
  readonly server: Pick<AgentCalls, 'reportDisks'>
  readonly epoch: () => number
  /** Whether the server of the last hello accepts reports. */
  readonly isWanted: () => boolean
  readonly clock: Clock
  readonly log: Logger
  /** Time between two reports. Milliseconds. */
  readonly everyMs?: number
}

export interface DiskReporter {
  /** Reports until the signal is aborted. Never throws: other loops of the agent learn that it was replaced. */
  run(signal: AbortSignal): Promise<void>
  /** Ends the current pause, after a change that the server waits for. */
  reportSoon(): void
}

const EVERY_MS = 60_000
/** An unchanged report is repeated after this time, so that the server knows that the disks are still there. Milliseconds. */
const REPEAT_MS = 10 * 60_000

/** Opens the reporter; it sends nothing before `run`. */
export function openDiskReports(options: DiskReportOptions): DiskReporter {
  const { disks, server, clock, log, everyMs = EVERY_MS } = options
  let seq = 0
  let sent: { readonly hash: string; readonly at: number } | undefined
  let wake = Promise.withResolvers<void>()

  async function report(signal: AbortSignal): Promise<void> {
    const found = await disks.list(signal)
    const body = { ...toReport(found.disks), failed: found.failed.slice(0, 1000) }
    const hash = sha256(`${options.epoch()}/${JSON.stringify(body)}`)
    if (sent?.hash === hash && clock.monotonic() - sent.at < REPEAT_MS) return
    seq += 1
    await server.reportDisks({ epoch: options.epoch(), seq, ...body }, { signal })
    sent = { hash, at: clock.monotonic() }
  }

  return {
    async run(signal) {
      while (!signal.aborted) {
        wake = Promise.withResolvers<void>()
        if (options.isWanted()) await tick(log, 'report the disks', () => report(signal))
        const over = new AbortController()
        const pause = clock.sleep(everyMs * (0.9 + 0.2 * Math.random()), AbortSignal.any([signal, over.signal]))
        await Promise.race([wake.promise, pause.catch(() => undefined)])
        over.abort()
      }
    },
    reportSoon: () => wake.resolve(),
  }
}

/** Keeps the disks that were used last if there are too many. */
function toReport(disks: readonly DiskFacts[]): Pick<DiskReport, 'disks' | 'total'> {
  const byUid = [...new Map(disks.map((disk) => [disk.uid, disk])).values()]
  const lastOf = ({ lastUsedAt = 0 }: DiskFacts): number => lastUsedAt
  const kept =
    byUid.length <= MAX_REPORTED_DISKS
      ? byUid
      : byUid.toSorted((one, other) => lastOf(other) - lastOf(one)).slice(0, MAX_REPORTED_DISKS)
  return { disks: kept.toSorted((one, other) => (one.uid < other.uid ? -1 : 1)), total: byUid.length }
}
