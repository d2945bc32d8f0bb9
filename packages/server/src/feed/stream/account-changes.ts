/**
 * What changes in the lists of the account, read once for all streams of this server. While a stream follows the account, a loop reads the builds that other
 * parts of any server report as changed, and compares the other lists with what it read before. It keeps the latest changes, so that a reader that
 * reconnects to any replica can continue.
 */
import { randomBytes } from 'node:crypto'
import type { App } from '../../app.ts'
import { ELECT_TOPIC } from '../../builds/lifecycle/edit.ts'
import { changedBuild } from '../../store/builds/builds.ts'
import { RELEASE_CHANGES_TOPIC } from '../../store/runtimes/releases.ts'
import { GITLAB_TOPIC } from '../../gitlab-jobs/take-report.ts'
import { APPLICATIONS_TOPIC } from '../../gitops/applications/take-report.ts'
import { DELIVERY_TOPIC } from '../../triggers/deliveries/new-delivery.ts'
import type { AccountPlace } from './cursor.ts'
import { openAccountReader, type PlaceCounts, type ReadChange, type SharedCounts } from './account-reader.ts'

/** A change that a reader may see if it has the right of its noun, at the place if there is one. */
export interface Change extends ReadChange {
  /** Increases by one. */
  readonly number: number
  /** Start of the read that found it. Epoch milliseconds of the store. */
  readonly at: number
}

export interface AccountChanges {
  /** Id of the loop, for cursors. */
  readonly id: string
  /** All changes before this time are known. Epoch milliseconds. */
  readonly readAt: number
  /** Number of the latest change; 0 for none. */
  readonly last: number
  readonly counts: readonly PlaceCounts[]
  readonly shared: SharedCounts
  /** Returns the number after which a reader with this cursor continues; undefined if changes since then may be missing. */
  numberAt(cursor: AccountPlace): number | undefined
  /** Returns the changes after a number; undefined if some of them are not kept any more. */
  after(number: number): readonly Change[] | undefined
}

export interface Follower extends Disposable {
  readonly changes: AccountChanges
  /** Resolves when the first read is done. Throws if it fails. */
  ready(): Promise<void>
}

/** Minimum time between two reads. Milliseconds. */
const READ_MS = 250
/** Share of the time that the reads may take. */
const READ_SHARE = 0.2
/** Time after which everything is read although nothing was reported: a report can be lost, and agents go offline by time. Milliseconds. */
const REREAD_MS = 5_000
/** How long the loop continues after the last reader has left, for readers that reconnect. Milliseconds. */
const LINGER_MS = 60_000
/** A cursor of another replica can be ahead of changes whose report was on the way to that replica. Milliseconds. */
const OVERLAP_MS = 2_000
const MAX_CHANGES = 5_000
/** Characters of JSON of the kept changes. */
const MAX_KEPT = 16_777_216

/** Topics that are woken when an application or a release changes. */
const GITOPS_TOPICS: ReadonlySet<string> = new Set([APPLICATIONS_TOPIC, RELEASE_CHANGES_TOPIC])
/** Topics that are woken when something that lists show changes, besides builds. */
const LIST_TOPICS: ReadonlySet<string> = new Set([ELECT_TOPIC, DELIVERY_TOPIC, GITLAB_TOPIC, ...GITOPS_TOPICS])

const loops = new WeakMap<App['store'], Loop>()

/** Follows the changes of the account until the result is disposed. `onChange` is called after each read that found something. */
export function followAccount(app: App, onChange: () => void): Follower {
  let loop = loops.get(app.store)
  if (loop === undefined || loop.isOver) loops.set(app.store, (loop = new Loop(app)))
  return loop.add(onChange)
}

class Loop implements AccountChanges {
  readonly id = randomBytes(4).toString('hex')
  readAt = 0
  last = 0
  counts: readonly PlaceCounts[] = []
  shared: SharedCounts = { gitlabJobs: undefined, applications: undefined }
  isOver = false
  /** All changes after this time are in `#kept`. */
  #since = 0
  readonly #kept: Change[] = []
  #keptLength = 0
  readonly #app: App
  readonly #readers = new Set<() => void>()
  readonly #reader: ReturnType<typeof openAccountReader>
  #changed = new Set<string>()
  #hasChangedApplications = false
  #isReported = false
  #wake: (() => void) | undefined
  readonly #first: Promise<void>

  constructor(app: App) {
    this.#app = app
    this.#reader = openAccountReader(app)
    this.#first = this.#run()
    this.#first.catch(() => undefined)
  }

  add(onChange: () => void): Follower {
    this.#readers.add(onChange)
    return {
      changes: this,
      ready: () => this.#first,
      [Symbol.dispose]: () => void this.#readers.delete(onChange),
    }
  }

  numberAt({ at: cursor, loop }: AccountPlace): number | undefined {
    const from = loop === this.id ? cursor : cursor - OVERLAP_MS
    if (from < this.#since || cursor > this.#app.clock.now() + OVERLAP_MS) return undefined
    const first = this.#kept.find(({ at }) => at > from)
    return first === undefined ? this.last : first.number - 1
  }

  after(number: number): readonly Change[] | undefined {
    const first = this.#kept[0]?.number ?? this.last + 1
    return number + 1 < first ? undefined : this.#kept.slice(number + 1 - first)
  }

  /** Resolves after the first read; the loop continues. */
  async #run(): Promise<void> {
    // Listen before the first read, so that no report is missed.
    const listening = this.#app.store.listen((topic) => this.#note(topic))
    try {
      this.#since = this.#app.clock.now()
      const { counts, shared } = await this.#reader.readAll()
      this.counts = counts
      this.shared = shared
      this.readAt = this.#since
    } catch (error) {
      this.isOver = true
      listening[Symbol.dispose]()
      throw error
    }
    void this.#loop().finally(() => {
      this.isOver = true
      listening[Symbol.dispose]()
    })
  }

  #note(topic: string): void {
    const id = changedBuild(topic)
    if (id !== undefined) this.#changed.add(id)
    if (id === undefined && !LIST_TOPICS.has(topic)) return
    if (GITOPS_TOPICS.has(topic)) this.#hasChangedApplications = true
    this.#isReported = true
    this.#wake?.()
  }

  async #loop(): Promise<void> {
    const { clock, closing, log } = this.#app
    let lonelySince: number | undefined
    let pauseMs = READ_MS
    for (let fullAt = clock.monotonic(); !closing.aborted;) {
      await clock.sleep(pauseMs, closing).catch(() => undefined)
      await this.#waitForReport()
      const start = clock.monotonic()
      lonelySince = this.#readers.size > 0 ? undefined : (lonelySince ?? start)
      if (lonelySince !== undefined && start - lonelySince >= LINGER_MS) return
      const isFull = start - fullAt >= REREAD_MS
      try {
        await this.#read(isFull)
        if (isFull) fullAt = start
        pauseMs = Math.max(READ_MS, (clock.monotonic() - start) / READ_SHARE)
      } catch (error) {
        if (!closing.aborted) log.warn({ err: error }, 'the changes of the account cannot be read')
        // The reported ids are lost. The next read compares everything.
        fullAt = Number.NEGATIVE_INFINITY
        pauseMs = REREAD_MS
      }
    }
  }

  /** Resolves at the next report, at once if there was one, or after `REREAD_MS`. */
  async #waitForReport(): Promise<void> {
    const { clock, closing } = this.#app
    if (this.#isReported || closing.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#wake = resolve
    const over = new AbortController()
    const either = AbortSignal.any([closing, over.signal])
    await Promise.race([promise, clock.sleep(REREAD_MS, either).catch(() => undefined)])
    over.abort()
    this.#wake = undefined
  }

  async #read(isFull: boolean): Promise<void> {
    const reported = { builds: this.#changed, applications: this.#hasChangedApplications }
    this.#changed = new Set()
    this.#hasChangedApplications = false
    this.#isReported = false
    const at = this.#app.clock.now()
    const { changes, counts, shared } = await (isFull ? this.#reader.readAll(reported) : this.#reader.readChanged(reported))
    for (const change of changes) this.#keep({ ...change, at, number: (this.last += 1) })
    const isNew = changes.length > 0 || !isEqual([counts, shared], [this.counts, this.shared])
    this.counts = counts
    this.shared = shared
    this.readAt = at
    if (isNew) for (const onChange of this.#readers) onChange()
  }

  #keep(change: Change): void {
    this.#kept.push(change)
    this.#keptLength += change.json.length
    while (this.#kept.length > MAX_CHANGES || (this.#keptLength > MAX_KEPT && this.#kept.length > 1)) {
      const dropped = this.#kept.shift()
      if (dropped === undefined) return
      this.#keptLength -= dropped.json.length
      this.#since = dropped.at
    }
  }
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other)
}
