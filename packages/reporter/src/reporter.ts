/**
 * Watches the applications, rollouts and workflows of a cluster and reports them, one body after the other (docs/development/adr/0130-reported-applications.md and
 * 0159-reported-rollouts-and-workflows.md). A body is sent again until the server has it. What cannot be sent as a part of a body is sent alone, what the server refuses alone is left out,
 * and what cannot be read is tried again later, so that one object does not stop the others.
 */
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { isAbort, isFault, pauseMs, readNamedFile, type Clock, type Logger } from '@windlass/kit'
import { ALL_NAMESPACES, type Kube } from '@windlass/kube'
import { reporterCalls } from '@windlass/client/reporter'
import { REPORTER_ALIVE_MS, type Client, type EventsAnswer, type FullState } from '@windlass/protocol'
import { ApplicationWatches } from './applications.ts'
import { nextBatch, type Batch } from './batch.ts'
import { FullStateRun } from './full-state.ts'
import { ObjectWatches } from './objects.ts'
import { nameOf, Queue, type Entry, type EntryName, type QueueLimits } from './queue.ts'
import { readManifest } from './read.ts'

export interface ReporterOptions {
  readonly kube: Kube
  /** The server, without a token. */
  readonly client: Client
  /** File with the token of the runtime. It is read for each body, because Kubernetes replaces it. */
  readonly tokenFile: string
  /** Absent: all namespaces. */
  readonly namespaces?: readonly string[] | undefined
  /** Where rollouts and workflows are reported. Absent: where applications are. */
  readonly objectNamespaces?: readonly string[] | undefined
  /** The part of the applications and other objects that this process reports, from 0. */
  readonly shard: number
  readonly shards: number
  readonly version: string
  readonly limits?: Partial<QueueLimits> | undefined
  /** Time between two full states. Milliseconds. */
  readonly fullStateMs?: number | undefined
  readonly clock: Clock
  readonly log: Logger
}

export interface ReporterStatus {
  /** Applications that exist in this part. */
  readonly applications: number
  /** Rollouts, their ReplicaSets and workflows that exist in this part. */
  readonly objects: number
  /** Entries that wait, and the characters of their manifests. */
  readonly waiting: number
  readonly waitingCharacters: number
  /** Bodies that the server took, and objects that it refused. */
  readonly sent: number
  readonly refused: number
  /** When the server last took a body, epoch milliseconds; 0 for never. */
  readonly heardAt: number
  /** The reporter has not been able to read all of its namespaces for some minutes. */
  readonly isBlind: boolean
}

export interface Reporter extends AsyncDisposable {
  /** Resolves after `close`. Rejects if the reporter cannot continue, which is a bug. */
  readonly ended: Promise<void>
  status(): ReporterStatus
  /** Stops, without sending what waits: the next process begins with a full state. Safe to call twice. */
  close(): Promise<void>
}

const LIMITS: QueueLimits = { maxCharacters: 33_554_432, maxEntries: 20_000 }
const FULL_STATE_MS = 600_000
/** Time for which a full state waits until all changes are sent. Milliseconds. */
const PATIENCE_MS = 60_000
/** Time for the reads of one body, so that a slow API server holds up neither what needs no read nor a sign of life. Milliseconds. */
const READ_MS = 5_000
/** Time until objects that could not be read are tried again. Milliseconds. */
const RETRY_MS = 15_000
const BACKOFF = { baseMs: 500, maxMs: 30_000 }
const TIMEOUT_MS = 30_000

const zip = promisify(gzip)

/** Starts to watch and to report. Throws `config-invalid` if the token cannot be read. */
export function startReporter(options: ReporterOptions): Reporter {
  readToken(options.tokenFile)
  return new ClusterReporter(options)
}

function readToken(file: string): string {
  return readNamedFile(file).trim()
}

class ClusterReporter implements Reporter {
  readonly #options: ReporterOptions
  readonly #stopped = new AbortController()
  readonly #queue: Queue
  readonly #applications: ApplicationWatches
  readonly #objects: ObjectWatches
  #fullState: FullStateRun | undefined
  /** Another full state follows at once, because a change was dropped while this one is sent. */
  #isAnotherDue = false
  /** When a full state is due. Monotonic milliseconds. */
  #fullStateAt: number
  /** When what could not be read is tried again. Monotonic milliseconds. */
  #retryAt = 0
  #sentAt = 0
  /** Entries that are sent one by one, because the server refused them together. */
  #alone = 0
  #sent = 0
  #refused = 0
  #heardAt = 0
  #wake = Promise.withResolvers<void>()
  readonly ended: Promise<void>

  constructor(options: ReporterOptions) {
    this.#options = options
    this.#fullStateAt = options.clock.monotonic()
    this.#queue = new Queue({ ...LIMITS, ...options.limits }, () => this.#noteDropped())
    const places = options.namespaces ?? [ALL_NAMESPACES]
    const wake = (): void => this.#wake.resolve()
    const common = {
      ...options,
      signal: this.#stopped.signal,
      onChange: (entry: Entry): void => {
        this.#queue.add(entry)
        wake()
      },
      onListed: (): void => {
        this.#askFullState()
        wake()
      },
    }
    this.#applications = new ApplicationWatches({ ...common, namespaces: places, onSeenAgain: wake })
    this.#objects = new ObjectWatches({ ...common, namespaces: options.objectNamespaces ?? places })
    this.ended = Promise.all([this.#applications.ended, this.#objects.ended, this.#send()]).then(() => undefined)
    this.ended.catch(() => undefined)
  }

  status(): ReporterStatus {
    return {
      applications: this.#applications.known.size,
      objects: this.#objects.known.size,
      waiting: this.#queue.size,
      waitingCharacters: this.#queue.characters,
      sent: this.#sent,
      refused: this.#refused,
      heardAt: this.#heardAt,
      isBlind: this.#applications.sight.blind.length > 0,
    }
  }

  async close(): Promise<void> {
    this.#stopped.abort(new DOMException('the reporter stops', 'AbortError'))
    this.#wake.resolve()
    await this.ended.catch(() => undefined)
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close()
  }

  #askFullState(): void {
    this.#fullState = undefined
    this.#fullStateAt = this.#options.clock.monotonic()
  }

  /** A full state in progress goes on: it would never end if each dropped change began it again. */
  #noteDropped(): void {
    if (this.#fullState === undefined) this.#askFullState()
    else this.#isAnotherDue = true
  }

  async #send(): Promise<void> {
    const { clock, log } = this.#options
    const { signal } = this.#stopped
    for (let failures = 0; !signal.aborted;) {
      try {
        if (!(await this.#sendNext())) await this.#rest()
        failures = 0
      } catch (error) {
        if (signal.aborted || isAbort(error)) return
        failures += 1
        log[failures === 1 ? 'info' : 'warn']({ err: error, failures }, 'a report was not sent; it is sent again')
        await clock.sleep(pauseMs(BACKOFF, failures, error), signal).catch(() => undefined)
      }
    }
  }

  /**
   * Sends one body. Returns false if nothing is to be sent. A sign of life waits for no read. A reporter that cannot read everything sends no full state, and says so in
   * every body, so that the server shows that what it has may be out of date.
   */
  async #sendNext(): Promise<boolean> {
    const now = this.#options.clock.monotonic()
    const isBlind = this.#applications.sight.check()
    const isDue = !isBlind && this.#applications.isListed && now >= this.#fullStateAt
    if (now >= this.#retryAt) this.#queue.takeBack()
    const isPatient = this.#queue.ready > 0 && now < this.#fullStateAt + PATIENCE_MS
    if (isDue && !isPatient) await this.#sendFullState()
    else if (this.#sent === 0 || now >= this.#sentAt + REPORTER_ALIVE_MS) await this.#post([])
    else if (this.#queue.ready > 0) await this.#sendChanges()
    else return false
    return true
  }

  async #sendChanges(): Promise<void> {
    const { kube, clock, log } = this.#options
    const until = clock.monotonic() + READ_MS
    const reading = { kube, log, signal: this.#stopped.signal }
    const batch = await nextBatch(this.#queue, {
      ...(this.#alone > 0 && { count: 1 }),
      read: async (entry) => (clock.monotonic() < until ? readManifest(reading, entry) : 'later'),
    })
    this.#putAside(batch.failed)
    if (batch.payloads.length > 0 && !(await this.#isTaken(batch))) return
    for (const entry of batch.entries) this.#queue.done(entry)
    this.#alone = Math.max(0, this.#alone - batch.entries.length)
  }

  #putAside(failed: Batch['failed']): void {
    const { clock, log } = this.#options
    const [first] = failed
    if (first === undefined) return
    const facts = { err: first.error, ...nameOf(first.entry), failed: failed.length }
    log.warn(facts, 'objects cannot be read; the others are reported, and these are read again')
    if (this.#queue.aside === 0) this.#retryAt = clock.monotonic() + RETRY_MS
    for (const { entry } of failed) this.#queue.putAside(entry)
  }

  /** Returns false if the entries have to be sent one by one. */
  async #isTaken({ payloads, entries }: Batch): Promise<boolean> {
    try {
      await this.#post(payloads)
    } catch (error) {
      if (!isFault(error, 'request-invalid', 'payload-too-large')) throw error
      if (entries.length > 1) {
        this.#alone = entries.length
        return false
      }
      this.#refused += 1
      this.#options.log.warn({ err: error, ...nameOf(entries[0]) }, 'the server refuses an object; it is left out')
    }
    return true
  }

  async #sendFullState(): Promise<void> {
    const { clock, log, fullStateMs = FULL_STATE_MS } = this.#options
    const { kinds } = this.#objects
    const run = (this.#fullState ??= new FullStateRun([...this.#applications.known.values(), ...this.#objects.known.values()], {
      kinds,
      startedAt: clock.now(),
    }))
    const { wanted, wantedObjects = [] } = await this.#post([], run.chunk).catch((error: unknown) => {
      if (!isFault(error, 'request-invalid', 'payload-too-large')) throw error
      // Changes are reported also to a server that does not take full states.
      log.warn({ err: error }, 'the server refuses the full state')
      return { wanted: [], wantedObjects: [] }
    })
    const at = clock.now()
    const names: readonly EntryName[] = [
      ...wanted.map(({ namespace, name }) => ({ kind: 'Application', namespace, name }) as const),
      ...wantedObjects,
    ]
    for (const named of names) {
      const { known } = named.kind === 'Application' ? this.#applications : this.#objects
      if (known.has(named)) this.#queue.want({ ...named, at })
    }
    // A gap meanwhile asks for another one.
    if (this.#fullState !== run || run.advance()) return
    this.#fullState = undefined
    this.#fullStateAt = clock.monotonic() + (this.#isAnotherDue ? 0 : fullStateMs)
    this.#isAnotherDue = false
  }

  async #post(data: readonly object[], fullState?: FullState): Promise<EventsAnswer> {
    const { client, tokenFile, shard, shards, version, clock } = this.#options
    const reporter = { shard, shards, version, ...(this.#applications.sight.wasBlind && { isBlind: true }) }
    const body = await zip(JSON.stringify({ data, reporter, ...(fullState !== undefined && { fullState }) }))
    const answer = await reporterCalls(client.withToken(readToken(tokenFile))).events(body, {
      headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
      timeoutMs: TIMEOUT_MS,
      signal: this.#stopped.signal,
    })
    this.#sent += 1
    this.#sentAt = clock.monotonic()
    this.#heardAt = clock.now()
    return answer
  }

  /** Waits until something changes, or until a full state, a sign of life or a read is due. */
  async #rest(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#stopped
    const mayList = this.#applications.isListed && !this.#applications.sight.wasBlind
    const retryAt = this.#queue.aside > 0 ? this.#retryAt : Infinity
    const until = Math.min(this.#sentAt + REPORTER_ALIVE_MS, mayList ? this.#fullStateAt : Infinity, retryAt)
    const woken = new AbortController()
    const pause = clock.sleep(Math.max(0, until - clock.monotonic()), AbortSignal.any([signal, woken.signal]))
    await Promise.race([this.#wake.promise, pause.catch(() => undefined)])
    woken.abort()
    this.#wake = Promise.withResolvers()
  }
}
