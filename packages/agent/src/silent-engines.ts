/**
 * Reads the logs of silent engines, a few at a time, and no log more often than `READ_EVERY_MS`, however often the server names the engine.
 */
import { attempt as tick, type Clock, type Logger } from '@windlass/kit'
import { attemptKey, type AttemptRef, type Executor, type ReportFact } from './executor.ts'

/** A read lists pods and fetches a log; too many at once would crowd out the calls that builds need. */
const MAX_READS = 5
/** An engine logs a line per attempt to reach its server, with growing delays between them. Milliseconds. */
const READ_EVERY_MS = 30_000

export type SilentRef = AttemptRef & { readonly runtime: string }

export interface SilentEnginesOptions {
  readonly executor: Executor
  readonly report: ReportFact
  readonly clock: Clock
  readonly log: Logger
  /** Aborts the reads in progress; no more start after it. */
  readonly signal: AbortSignal
}

export interface SilentEngines {
  /** Sets the engines that are silent now, replacing the previous ones. */
  read(refs: readonly SilentRef[]): void
  /** Resolves when no read is in progress. */
  idle(): Promise<void>
}

/** Reports the ends of their logs as facts. A read that fails is logged and repeated later. */
export function openSilentEngines({ executor, report, clock, log, signal }: SilentEnginesOptions): SilentEngines {
  const reading = new Map<string, Promise<void>>()
  /** Time of the last read of each engine, by the monotonic clock. */
  const readAt = new Map<string, number>()
  let due: SilentRef[] = []

  const lastRead = (ref: SilentRef): number => readAt.get(attemptKey(ref)) ?? -Infinity

  async function readOne({ runtime, ...ref }: SilentRef): Promise<void> {
    const found = await executor.lastLog?.({ ...ref, runtime }, signal)
    if (found === undefined || signal.aborted) return
    // The log is a separate object, so that facts about the pod are not replaced.
    report({ ...ref, object: `${found.object}/log`, state: 'waiting', reason: 'engine-silent', message: found.text })
  }

  function begin(): void {
    while (reading.size < MAX_READS && !signal.aborted) {
      const ref = due.shift()
      if (ref === undefined) return
      const key = attemptKey(ref)
      readAt.set(key, clock.monotonic())
      const read = tick(log, 'read the log of a silent engine', () => readOne(ref)).then(() => {
        reading.delete(key)
        begin()
      })
      reading.set(key, read)
    }
  }

  return {
    read(refs) {
      const now = clock.monotonic()
      const keys = new Set(refs.map((ref) => attemptKey(ref)))
      for (const key of readAt.keys()) if (!keys.has(key)) readAt.delete(key)
      due = refs
        .filter((ref) => !reading.has(attemptKey(ref)) && now - lastRead(ref) >= READ_EVERY_MS)
        .toSorted((one, other) => lastRead(one) - lastRead(other) || 0)
      begin()
    },
    async idle() {
      while (reading.size > 0) await Promise.all(reading.values())
    },
  }
}
