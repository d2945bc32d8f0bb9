/**
 * Does work that is pulled from elsewhere: each unit once, units of one lane in order, and each report until it is acknowledged.
 *
 * | a crash | what the next process does |
 * |---|---|
 * | before `accept` has stored the units | it does not know them; the other side hands them out again, or fails them |
 * | after that, before or during `run` | it finds the units in `unfinished`; they may have had effects |
 * | after `finish` has resolved | it sends the report |
 * | after the other side has the report, before this was stored | it sends the report again |
 */
import { isFault, type Clock, type Logger } from '@windlass/kit'
import { openLaneGroups, type Aside, type LaneGroups } from './lanes.ts'
import { openLedger, type Ledger } from './ledger.ts'
import { openOutbox, retryDelayMs, type SendAttempt, type Outbox } from './outbox.ts'

/** A unit of work. */
export interface Unit<T> {
  /** Identifies the unit. The same key is not run again until the last report of the first run is acknowledged. */
  readonly key: string
  readonly task: T
}

/** Units that are run by one call, in a lane. */
export interface Batch<T> {
  readonly units: readonly Unit<T>[]
  /** Batches of a lane are run one after the other, in the order in which they were accepted. */
  readonly lane: string
  /** Groups have separate limits, so that a group whose work does not end does not block the others. */
  readonly group: string
}

/** What a run works with. */
export interface Run<R> {
  /**
   * Aborted when the process closes. Units that are not finished then stay in the ledger, for the next process. Work whose effects do not depend on
   * this process can end at once and be continued there.
   */
  readonly signal: AbortSignal
  /** The time at which the batch was accepted, of the monotonic clock. */
  readonly acceptedAt: number
  /** Waits for something during which the batch does not count against the concurrency of its group. Its lane waits with it. */
  readonly aside: Aside
  /** Stores a report of a unit that is not finished yet; it is sent before the later reports of the unit. Ignored after `finish`. */
  report(unit: Pick<Unit<unknown>, 'key'>, report: R): Promise<void>
  /**
   * Stores the outcome of a unit, with the last report if there is one to send. Resolves when it is synced to disk; while there is no space, it
   * waits, and with it the lane. Ignored if the unit is finished already. Rejects if the process closes first.
   */
  finish(unit: Pick<Unit<unknown>, 'key'>, report: R | undefined): Promise<void>
}

export interface WorkOptions<T, R> {
  /** Folder of the ledger, used by one process at a time. */
  readonly dir: string
  /** Name of the setting of the folder, for messages. */
  readonly setting: string
  /** Maximum size of the ledger. Default: 1 GiB. */
  readonly limitBytes?: number
  /** Returns what is stored of a task: enough to continue or to report it in another process, without secrets if possible. */
  readonly encode: (task: T) => unknown
  /** Parses what an earlier process stored. */
  readonly decode: (stored: unknown) => T
  readonly decodeReport: (stored: unknown) => R
  /** Returns the number of batches of a group that run at once, and the number of queued ones from which `accept` makes its caller wait. */
  readonly limits: (group: string) => { readonly concurrency: number; readonly buffer: number }
  /** Does a batch, and calls `finish` for each of its units. */
  readonly run: (batch: Batch<T>, run: Run<R>) => Promise<void>
  /** Returns the last report of a unit for which `run` threw an error or did not call `finish`. */
  readonly failure: (unit: Unit<T>, error: unknown) => R | undefined
  /**
   * Sends a report. Resolves when the other side has it. The same report can be sent twice, also by two processes, if an acknowledgement is lost.
   * The reports of a unit are sent in order, those of different units in any order.
   */
  readonly report: (key: string, report: R, attempt: SendAttempt) => Promise<void>
  /** Whether the other side refused a report permanently. Such a report is dropped; after other errors it is sent again. */
  readonly isRefusal: (error: unknown) => boolean
  readonly clock: Clock
  readonly log: Logger
}

export interface Work<T, R> {
  /** The units that an earlier process accepted and did not finish, oldest first. Each must be accepted again or finished. */
  readonly unfinished: readonly Unit<T>[]
  /** Whether a unit is known: not finished, or with an unsent report. */
  has(key: string): boolean
  /**
   * Stores the units of batches in one synced transaction and queues them. Drops units that are known, unless they are in `unfinished` and this is the
   * first time that this process sees them. Resolves when all their groups have room for more. Throws `spool-full` if there is no space; nothing is
   * stored or queued then.
   */
  accept(batches: readonly Batch<T>[]): Promise<void>
  /**
   * Makes a call that fetches work and accepts it, as part of the work: `idle` and `close` wait for it, because the other side may already have handed
   * out what the call returns. Its signal is aborted only when the process closes without waiting any longer.
   */
  pull<X>(call: (signal: AbortSignal) => Promise<X>): Promise<X>
  /** Finishes units without running them: new ones that cannot be run, and those in `unfinished`. Ignores finished ones. Throws `spool-full`. */
  finish(units: readonly { readonly unit: Unit<T>; readonly report: R | undefined }[]): void
  /** Returns the number of queued batches, of all groups or of one. */
  waiting(group?: string): number
  /** Number of batches that run. */
  readonly running: number
  /** Number of unsent reports. */
  readonly unsent: number
  /** Resolves when the pulls in progress have ended, nothing is queued or running, and each report is acknowledged. */
  idle(): Promise<void>
  /** Resolves after `close`. Rejects if the ledger cannot be read or written. */
  readonly ended: Promise<void>
  /**
   * Drains: waits up to `graceMs` (default: without a limit) until idle, then aborts what still runs and closes the ledger. The caller stops
   * pulling first. Safe to call twice.
   */
  close(graceMs?: number): Promise<void>
}

const LIMIT_BYTES = 1024 ** 3

/** Opens the ledger and starts to send the reports that an earlier process left. Throws `config-invalid` if the folder cannot be written. */
export function openWork<T, R>(options: WorkOptions<T, R>): Work<T, R> {
  return new LedgeredWork(options)
}

interface Queued<T> {
  readonly batch: Batch<T>
  readonly acceptedAt: number
}

class LedgeredWork<T, R> implements Work<T, R> {
  readonly unfinished: readonly Unit<T>[]
  readonly ended: Promise<void>
  readonly #options: WorkOptions<T, R>
  readonly #ledger: Ledger
  readonly #outbox: Outbox
  readonly #lanes: LaneGroups<Queued<T>>
  /** Keys of `unfinished` that this process has not seen yet. */
  readonly #unclaimed: Set<string>
  readonly #pulls = new Set<Promise<unknown>>()
  readonly #running = new AbortController()
  readonly #broken = Promise.withResolvers<never>()

  constructor(options: WorkOptions<T, R>) {
    const { dir, setting, limitBytes = LIMIT_BYTES, isRefusal, clock, log } = options
    this.#options = options
    this.#ledger = openLedger({ dir, setting, limitBytes })
    this.unfinished = this.#ledger.open().map(({ key, body }) => ({ key, task: options.decode(JSON.parse(body)) }))
    this.#unclaimed = new Set(this.unfinished.map(({ key }) => key))
    this.#outbox = openOutbox({
      ledger: this.#ledger,
      send: ({ key, body }, attempt) => options.report(key, options.decodeReport(JSON.parse(body)), attempt),
      isRefusal,
      clock,
      log,
    })
    this.#lanes = openLaneGroups((group) => ({
      ...options.limits(group),
      work: (queued, aside) => this.#carryOut(queued, aside),
    }))
    this.#broken.promise.catch(() => undefined)
    this.ended = this.#send()
    this.ended.catch(() => undefined)
  }

  has(key: string): boolean {
    return this.#ledger.has(key)
  }

  async accept(batches: readonly Batch<T>[]): Promise<void> {
    const units = batches.flatMap((batch) => batch.units)
    const fresh = this.#ledger.accept(units.map((unit) => this.#stored(unit)))
    const acceptedAt = this.#options.clock.monotonic()
    const rooms = batches.map(async (batch) => {
      // Deleted when taken, so that a key that is twice in the batches is run once.
      const taken = batch.units.filter(({ key }) => fresh.delete(key) || this.#unclaimed.delete(key))
      if (taken.length > 0) await this.#lanes.add(batch.group, batch.lane, { batch: { ...batch, units: taken }, acceptedAt })
    })
    await Promise.all(rooms)
  }

  async pull<X>(call: (signal: AbortSignal) => Promise<X>): Promise<X> {
    const pulling = call(this.#running.signal)
    this.#pulls.add(pulling)
    try {
      return await pulling
    } finally {
      this.#pulls.delete(pulling)
    }
  }

  finish(units: readonly { readonly unit: Unit<T>; readonly report: R | undefined }[]): void {
    const fresh = this.#ledger.accept(units.map(({ unit }) => this.#stored(unit)))
    for (const { unit, report } of units) {
      if (fresh.delete(unit.key) || this.#unclaimed.has(unit.key)) this.#ledger.finish(unit.key, textOf(report))
      this.#unclaimed.delete(unit.key)
    }
    this.#outbox.wake()
  }

  waiting(group?: string): number {
    return group === undefined ? this.#lanes.waiting : this.#lanes.waitingIn(group)
  }

  get running(): number {
    return this.#lanes.running
  }

  get unsent(): number {
    return this.#ledger.unsentCount()
  }

  async idle(): Promise<void> {
    await Promise.allSettled(this.#pulls)
    await this.#lanes.idle()
    await this.#outbox.empty()
  }

  async close(graceMs?: number): Promise<void> {
    if (!this.#running.signal.aborted) {
      const grace = new AbortController()
      const limit = graceMs === undefined ? [] : [this.#options.clock.sleep(graceMs, grace.signal).catch(() => undefined)]
      await Promise.race([this.idle(), this.ended.catch(() => undefined), ...limit])
      grace.abort()
      this.#running.abort(new DOMException('the process closes', 'AbortError'))
    }
    await this.ended.catch(() => undefined)
  }

  async #send(): Promise<void> {
    try {
      await Promise.race([this.#outbox.run(this.#running.signal), this.#broken.promise])
    } finally {
      this.#running.abort(new DOMException('the process closes', 'AbortError'))
      await Promise.allSettled(this.#pulls)
      await this.#lanes.idle()
      this.#ledger.close()
    }
  }

  #stored({ key, task }: Unit<T>): { key: string; body: string } {
    return { key, body: JSON.stringify(this.#options.encode(task)) }
  }

  /** Runs a batch. Never throws. Units of a batch that is still queued when the process closes stay in the ledger. */
  async #carryOut({ batch, acceptedAt }: Queued<T>, aside: Aside): Promise<void> {
    const { run, failure, log } = this.#options
    const { signal } = this.#running
    if (signal.aborted) return
    const open = new Set(batch.units)
    const finish: Run<R>['finish'] = async ({ key }, report) => {
      await this.#store(() => this.#ledger.finish(key, textOf(report)))
      for (const unit of open) if (unit.key === key) open.delete(unit)
    }
    const report: Run<R>['report'] = ({ key }, body) => this.#store(() => this.#ledger.report(key, JSON.stringify(body)))
    try {
      const error = await run(batch, { signal, acceptedAt, aside, report, finish }).then(
        () => new Error('the run ended without an outcome'),
        (thrown: unknown) => thrown,
      )
      if (signal.aborted) return
      for (const unit of open) {
        log.error({ err: error, key: unit.key }, 'a unit of work failed unexpectedly')
        await finish(unit, failure(unit, error))
      }
    } catch (error) {
      // Only the ledger and `failure` throw here, and waiting for space when the process closes.
      if (!signal.aborted) this.#broken.reject(error)
    }
  }

  /** Writes to the ledger, and waits while there is no space. Throws the reason of the signal. */
  async #store(write: () => boolean): Promise<void> {
    const { clock, log } = this.#options
    for (let failures = 1; ; failures += 1) {
      try {
        if (write()) this.#outbox.wake()
        return
      } catch (error) {
        if (!isFault(error, 'spool-full')) {
          this.#broken.reject(error)
          throw error
        }
        log.error({ err: error }, 'an outcome cannot be stored yet')
        await clock.sleep(retryDelayMs(error, failures), this.#running.signal)
      }
    }
  }
}

function textOf(report: unknown): string | undefined {
  return report === undefined ? undefined : JSON.stringify(report)
}
