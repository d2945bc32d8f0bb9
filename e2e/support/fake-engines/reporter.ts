/**
 * Connects a fake engine to the server with the parts of a real engine: its claim, its lease, its spool on disk, its masking, and the drain that
 * sends the spool. A fake engine therefore gives up, waits and retries as a real one does.
 */
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { openJournal, type Journal } from '@windlass/journal'
import type { Clock, Logger } from '@windlass/kit'
import type { AttemptOutcome, Client, Command, EngineClaimed, EngineEvent, EngineEventBody } from '@windlass/protocol'
import { redactEvent } from '../../../packages/engine/src/secrets/redact-event.ts'
import { secretsOf } from '../../../packages/engine/src/secrets/secrets.ts'
import { maskText, type Automaton } from '../../../packages/engine/src/output/mask.ts'
import { openStepOutput, type StepOutput } from '../../../packages/engine/src/output/step-output.ts'
import { lengthsOf, spooledOf } from '../../../packages/engine/src/report/announce.ts'
import { claim, openClaimKey } from '../../../packages/engine/src/report/claim.ts'
import { startDrain, type Drain } from '../../../packages/engine/src/report/drain.ts'
import { openFirstContact } from '../../../packages/engine/src/report/first-contact.ts'
import { keepLease, listen, type LeaseOptions } from '../../../packages/engine/src/report/lease.ts'
import { readSpooled } from '../../../packages/engine/src/report/refused.ts'
import { serverSink } from '../../../packages/engine/src/report/server-sink.ts'

export interface Reporter {
  readonly claimed: EngineClaimed
  /** Rejects when the server has ended the attempt, or when reporting cannot continue. Never resolves. */
  readonly failed: Promise<never>
  /** Yields commands of the server, each once, until the engine ends. */
  readonly commands: AsyncIterable<Command>
  /** Writes an event into the spool, with its texts masked. */
  tell(event: EngineEventBody): void
  /** Opens the output of one stream, masked like the output of a step. */
  output(stream: string): StepOutput
  /** Returns the lengths of the streams of a step after they are written to disk. */
  lengthsOf(step: string): Promise<Record<string, number>>
  /** Resolves when the server has received all reports so far. */
  told(signal: AbortSignal): Promise<void>
  /** Reports the outcome. Resolves when the server has received everything. */
  finish(outcome: AttemptOutcome): Promise<void>
  /** Aborts all calls and removes the spool, as the end of the pod does. */
  close(): Promise<void>
}

export interface ReporterOptions {
  /** Carries the bootstrap credential. */
  readonly client: Client
  readonly clock: Clock
  readonly log: Logger
  /** The same key again gets the same attempt; another key is refused. */
  readonly claimKey: string
  /** A folder of this engine only. */
  readonly spoolDir: string
  /** Maximum bytes of log in the spool. */
  readonly spoolBytes: number
  /** Aborted when the pod is killed. */
  readonly signal: AbortSignal
}

/** Exchanges the credential for an attempt and opens its spool. Throws `claim-used` and similar faults; retries while the server is unreachable. */
export async function openReporter(options: ReporterOptions): Promise<Reporter> {
  const { client, clock, log, spoolDir, spoolBytes, signal } = options
  mkdirSync(spoolDir, { recursive: true, mode: 0o700 })
  const file = join(spoolDir, 'claim-key')
  if (!existsSync(file)) writeFileSync(file, options.claimKey)
  const { key } = openClaimKey(spoolDir)
  const claimed = await claim({ client, key, clock, signal, contact: openFirstContact({ url: client.url, clock, log }) })
  const dir = join(spoolDir, 'journal')
  const journal = await openJournal<EngineEvent>({ dir, clock, limitBytes: spoolBytes, decode: readSpooled })
  return new EngineReporter(options, claimed, journal)
}

class EngineReporter implements Reporter {
  readonly claimed: EngineClaimed
  readonly failed: Promise<never>
  readonly commands: AsyncIterable<Command>
  readonly #journal: Journal<EngineEvent>
  readonly #drain: Drain
  readonly #secrets: Automaton | undefined
  readonly #over = new AbortController()
  readonly #loops: Promise<unknown>[]
  #hasEnd = false

  constructor({ client, clock, log, signal: killed }: ReporterOptions, claimed: EngineClaimed, journal: Journal<EngineEvent>) {
    this.claimed = claimed
    this.#journal = journal
    this.#secrets = secretsOf(claimed)(claimed.snapshot)
    const signal = AbortSignal.any([killed, this.#over.signal])
    const lease: LeaseOptions = { client: client.withToken(claimed.token), clock, log, signal }
    const { promise, reject } = Promise.withResolvers<never>()
    promise.catch(() => undefined)
    this.failed = promise
    this.commands = listen(lease)
    this.#drain = startDrain({ journal, sink: serverSink(lease.client), clock, log, signal })
    this.#drain.failed.catch(reject)
    const beats = {
      everyMs: claimed.limits.heartbeatMs,
      describe: () => spooledOf(journal),
      hasEnd: () => this.#hasEnd,
    }
    this.#loops = [keepLease({ ...lease, ...beats }).catch(reject)]
  }

  tell(event: EngineEventBody): void {
    this.#journal.append(redactEvent(event, (text) => maskText(this.#secrets, text)))
  }

  output(stream: string): StepOutput {
    const allowance = { left: Infinity }
    return openStepOutput({ stream: this.#journal.stream(stream), secrets: this.#secrets, limitBytes: Infinity, allowance })
  }

  lengthsOf(step: string): Promise<Record<string, number>> {
    return lengthsOf(this.#journal, step)
  }

  async told(signal: AbortSignal): Promise<void> {
    while (!this.#journal.isDrained()) {
      signal.throwIfAborted()
      await Promise.race([this.#journal.changed(this.#journal.version, signal), this.failed])
    }
  }

  async finish(outcome: AttemptOutcome): Promise<void> {
    const totals = Object.entries(await this.#journal.totals())
    const streams = Object.fromEntries(totals.map(([name, { bytes, sha256 }]) => [name, { bytes, sha256: sha256 ?? '' }]))
    for (const [name] of totals) await this.#journal.flushed(name)
    this.#hasEnd = true
    this.tell({ type: 'attempt.finished', outcome, streams })
    await Promise.race([this.#drain.finish(), this.failed])
  }

  async close(): Promise<void> {
    this.#over.abort(new DOMException('the engine is over', 'AbortError'))
    await Promise.all([...this.#loops, this.#drain.finish().catch(() => undefined)])
    await this.#journal.remove()
  }
}
