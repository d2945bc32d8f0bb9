/** The report of an attempt: a journal on the disk, its drain to the server, and the lease. */
import { join } from 'node:path'
import { engineCalls } from '@windlass/client/engine'
import { openJournal, type Journal } from '@windlass/journal'
import { isFault, isRefusal, retry, type Clock, type Logger } from '@windlass/kit'
import type { AttemptOutcome, Client, EngineEvent, Heartbeat } from '@windlass/protocol'
import { spooledOf } from './announce.ts'
import { startDrain, type Drain } from './drain.ts'
import { keepLease, type LeaseOptions } from './lease.ts'
import type { Measurements } from './measurements.ts'
import { readSpooled } from './refused.ts'
import { serverSink } from './server-sink.ts'

export interface ReportOptions {
  /** Has the attempt token. */
  readonly client: Client
  readonly spoolDir: string
  /** Maximum log bytes in the spool. */
  readonly spoolBytes: number
  readonly heartbeatMs: number
  readonly clock: Clock
  readonly log: Logger
  readonly metrics?: Pick<Measurements, 'observe'> | undefined
  /** Ends lease and drain at once. */
  readonly signal: AbortSignal
  /** Called if the server accepts nothing more from the attempt, or with a bug. */
  readonly onFailed: (error: unknown) => void
}

export interface Report {
  readonly lease: LeaseOptions
  readonly journal: Journal<EngineEvent>
  readonly drain: Drain
}

/** Starts the lease and sends the contents of the journal, including those of an earlier process. Throws on I/O errors. */
export async function openReport(options: ReportOptions): Promise<Report> {
  const { client, clock, log, signal, onFailed, heartbeatMs: everyMs } = options
  const lease: LeaseOptions = { client, clock, log, signal }
  let opened: Journal<EngineEvent> | undefined
  let hasEnd = false
  const describe = (): Heartbeat => (opened === undefined ? {} : spooledOf(opened))
  keepLease({ ...lease, everyMs, describe, hasEnd: () => hasEnd }).catch(onFailed)
  const journal = await openAttemptJournal(options, (event) => {
    hasEnd ||= event.type === 'attempt.finished'
  })
  opened = journal
  hasEnd ||= endOf(journal) !== undefined
  const drain = startDrain({ journal, sink: serverSink(client), clock, log, signal })
  drain.failed.catch(onFailed)
  return { lease, journal, drain }
}

/** Space for the end of an attempt, which has about 130 bytes for each log stream. */
const END_BYTES = 262_144

async function openAttemptJournal(
  { spoolDir, clock, log, spoolBytes, metrics }: ReportOptions,
  onAppend: (event: EngineEvent) => void,
): Promise<Journal<EngineEvent>> {
  return openJournal<EngineEvent>({
    dir: join(spoolDir, 'journal'),
    clock,
    limitBytes: spoolBytes,
    reserveBytes: END_BYTES,
    decode: readSpooled,
    onAppend: (event) => {
      onAppend(event)
      metrics?.observe(event)
    },
    onFull: (full) => log.warn({ full }, full ? 'spool is full, steps are blocked' : 'spool has space again'),
  })
}

/** Returns the end of the attempt, if it is written and the server has not acknowledged it. */
function endOf(journal: Journal<EngineEvent>): Extract<EngineEvent, { type: 'attempt.finished' }> | undefined {
  return journal.nextEvents(Infinity).findLast((event) => event.type === 'attempt.finished')
}

const RESTARTED: AttemptOutcome = {
  status: 'error',
  reason: 'engine-lost',
  message: 'The engine died during the attempt. It was restarted to send its log.',
}

/**
 * Ends an attempt whose engine died and left its spool to this process. The steps cannot be resumed: their containers are removed with the daemon, or
 * before the next attempt starts. The whole spool is sent first, which frees space for the end on a full disk. Returns undefined if `signal` was
 * aborted.
 */
export async function endLostAttempt(report: Report, signal: AbortSignal): Promise<AttemptOutcome | undefined> {
  const { journal } = report
  const known = endOf(journal)
  if (known !== undefined) return known.outcome
  while (!journal.isDrained() && !signal.aborted) await journal.changed(journal.version, signal)
  await catchUp(report, signal)
  return signal.aborted ? undefined : writeEnd(journal, RESTARTED)
}

const BACKOFF = { baseMs: 200, maxMs: 10_000 }

/** Continues the numbers of the server, which may have events that a power cut has removed. It would ignore an end with one of their numbers. */
async function catchUp({ journal, lease: { client, clock } }: Report, signal: AbortSignal): Promise<void> {
  const retryIf = (error: unknown): boolean => isFault(error) && !isRefusal(error)
  try {
    const ask = (): Promise<{ ackSeq: number }> => engineCalls(client).sendEvents({ events: [] }, { signal })
    const { ackSeq } = await retry({ ...BACKOFF, clock, signal, retryIf }, ask)
    journal.acknowledgeEvents(ackSeq)
  } catch (error) {
    // The drain gets the same refusal when it sends the end.
    if (!signal.aborted && !isRefusal(error)) throw error
  }
}

/** Writes the end of an attempt with an outcome that does not come from its steps. */
export async function writeEnd(journal: Journal<EngineEvent>, outcome: AttemptOutcome): Promise<AttemptOutcome> {
  const totals = Object.entries(await journal.totals())
  const streams = Object.fromEntries(totals.map(([name, { bytes, sha256 }]) => [name, { bytes, sha256: sha256 ?? '' }]))
  journal.appendLast({ type: 'attempt.finished', outcome, streams })
  return outcome
}
