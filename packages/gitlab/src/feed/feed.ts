/**
 * Polls the coordinators of all runner entries, and starts the jobs that they return. A request that the server holds for long does not occupy the slot
 * of a job: every entry has its own requests, and only a request that just started reserves a slot for the job that it may return.
 */
import type { Clock, Logger } from '@windlass/kit'
import type { Job } from '../job/payload.ts'
import { FeedEntry, type EntryState, type RunnerEntry } from './feed-entry.ts'
import type { JobRequestResult } from '../coordinator/job-request.ts'

export type { EntryState, RunnerEntry } from './feed-entry.ts'

/** A job that the coordinator gave to an entry. */
export interface ReceivedJob {
  /** Key of the entry. */
  readonly key: string
  readonly job: Job
  /** The job as the coordinator sent it. */
  readonly payload: unknown
  readonly correlationId: string | undefined
}

export interface FeedLimits {
  /** Maximum number of jobs of all entries. */
  readonly concurrent: number
  /** Time in which each entry is polled once. Milliseconds. */
  readonly checkIntervalMs: number
}

export interface FeedOptions extends FeedLimits {
  readonly entries: readonly RunnerEntry[]
  readonly clock: Clock
  readonly log: Logger
  /** Requests a job for an entry. May reject. */
  readonly request: (
    key: string,
    call: { readonly lastUpdate: string | undefined; readonly signal: AbortSignal },
  ) => Promise<JobRequestResult>
  /** Runs a job. Its slot is occupied until this resolves. */
  readonly onJob: (job: ReceivedJob) => Promise<void>
  /** Called with a job that has to wait until another one ends, before `onJob`. */
  readonly onQueued?: (job: ReceivedJob) => void
}

export interface Feed {
  /** Replaces the entries, and the given limits. Entries with the same key keep their state. Jobs of removed entries continue. */
  setEntries(entries: readonly RunnerEntry[], limits?: Partial<FeedLimits>): void
  /** Stops requesting jobs. Requests that the server holds are aborted; others may still return a job, which runs. */
  pause(): void
  resume(): void
  /** Pauses and resolves when no request is in progress and no job runs. */
  drain(): Promise<void>
  /** Occupies a slot for a job that is already running, such as an adopted one. Returns a function that frees it. */
  occupy(key: string): () => void
  /** Number of occupied slots. */
  running(): number
  state(): EntryState[]
  /** False if the loop that polls the entries has not run when it had to. A closed feed has none. */
  isTurning(): boolean
  /** Aborts all requests and stops. Does not wait for jobs. Jobs that wait for a slot start, so that their owner can end them. */
  close(): Promise<void>
}

/**
 * Time after which an unanswered request counts as held by the server. Until then it reserves the slot of a job, because a server with a queue answers
 * at once. Milliseconds.
 */
const HELD_AFTER_MS = 1_000
/**
 * Time between the job that takes the last slot and the end of the requests that the server holds. The same push to GitLab often creates several jobs,
 * and a request that ends while the server answers it would lose its job. A job that arrives in this time waits until another one ends, because the server
 * does not take it back. Milliseconds.
 */
const GRACE_MS = 1_000
/** Time by which a turn of the loop may be late. Milliseconds. */
const LATE_MS = 60_000

interface WaitingJob {
  readonly entry: FeedEntry
  /** Occupies a slot and starts the job. */
  readonly begin: () => void
}

export function openFeed(options: FeedOptions): Feed {
  const { clock, log, request, onJob } = options
  let { concurrent, checkIntervalMs } = options
  const stop = new AbortController()
  const entries = new Map<string, FeedEntry>()
  let order: FeedEntry[] = []
  let isPaused = false
  let wake = (): void => undefined
  /** When the next turn of the loop has to come. Monotonic. */
  let turnAt = clock.monotonic()
  /** Entries that found no free slot at their turn. */
  const waiting = new Set<FeedEntry>()
  /** Jobs that arrived when no slot was left, oldest first. */
  let waitingJobs: WaitingJob[] = []
  /** Requests and jobs in progress. These promises never reject. */
  const work = new Set<Promise<void>>()

  const total = (of: (entry: FeedEntry) => number): number => [...entries.values()].reduce((sum, entry) => sum + of(entry), 0)
  const hasSlot = (): boolean => total(({ running, reserved }) => running + reserved) + waitingJobs.length < concurrent
  const isFull = (): boolean => total(({ running }) => running) >= concurrent

  function entryOf(key: string): FeedEntry {
    const entry = entries.get(key) ?? new FeedEntry({ key, limit: 0, requestConcurrency: 1 })
    entries.set(key, entry)
    return entry
  }

  function setEntries(list: readonly RunnerEntry[]): void {
    order = list.map((settings) => {
      const entry = entryOf(settings.key)
      entry.settings = settings
      return entry
    })
    for (const entry of entries.values()) if (!order.includes(entry)) entry.abortHeld()
    forgetRemoved()
    wake()
  }

  function forgetRemoved(): void {
    for (const [key, entry] of entries)
      if (!order.includes(entry) && entry.isIdle && !waitingJobs.some((item) => item.entry === entry)) entries.delete(key)
    for (const entry of waiting) if (!order.includes(entry)) waiting.delete(entry)
  }

  function track(task: Promise<void>): void {
    const ended: Promise<void> = task.finally(() => {
      work.delete(ended)
      forgetRemoved()
    })
    work.add(ended)
  }

  function occupy(entry: FeedEntry): () => void {
    entry.running += 1
    void clock.sleep(GRACE_MS, stop.signal).then(abortUseless, () => undefined)
    let isFree = false
    return () => {
      if (isFree) return
      isFree = true
      entry.running -= 1
      startWaitingJobs()
      offerWaiting()
    }
  }

  /** Aborts the requests that the server holds and for whose jobs no slot is left. */
  function abortUseless(): void {
    for (const entry of entries.values()) if (isFull() || entry.isFull) entry.abortHeld()
  }

  const mayPoll = (entry: FeedEntry): boolean => !isPaused && !stop.signal.aborted && order.includes(entry)

  /** Makes a request for an entry, now or when a slot is free. Does nothing if the entry may not make one. */
  function offer(entry: FeedEntry): void {
    waiting.delete(entry)
    if (!mayPoll(entry) || !entry.mayRequest(clock.monotonic())) return
    if (hasSlot()) track(poll(entry))
    else waiting.add(entry)
  }

  /** Offers the entries that found no free slot, in the order in which they came. */
  function offerWaiting(): void {
    for (const entry of Array.from(waiting)) if (hasSlot()) offer(entry)
  }

  async function poll(entry: FeedEntry): Promise<void> {
    const { key } = entry.settings
    const opened = entry.openRequest()
    const signal = AbortSignal.any([stop.signal, opened.signal])
    const answered = new AbortController()
    void clock.sleep(HELD_AFTER_MS, AbortSignal.any([signal, answered.signal])).then(hold, () => undefined)
    function hold(): void {
      opened.hold()
      if (isFull() || !mayPoll(entry)) opened.abort()
      else offerWaiting()
    }
    let result: JobRequestResult
    try {
      result = await request(key, { lastUpdate: entry.lastUpdate, signal })
    } catch (error) {
      if (signal.aborted) return
      log.warn({ err: error, runner: key }, 'the request for a job failed')
      result = { outcome: 'failed', pushedBack: false }
    } finally {
      answered.abort()
      opened.end()
    }
    entry.learn(result, clock.monotonic(), log)
    if (result.outcome === 'job' && result.job !== undefined)
      start(entry, { key, job: result.job, payload: result.payload, correlationId: result.correlationId })
    else offerWaiting()
  }

  function start(entry: FeedEntry, received: ReceivedJob): void {
    track(run(entry, received))
    if (entry.settings.strictCheckInterval !== true) offer(entry)
  }

  async function run(entry: FeedEntry, received: ReceivedJob): Promise<void> {
    const fields = { job: received.job.id, runner: received.key }
    const isQueued = isFull() || entry.isFull
    if (isQueued) options.onQueued?.(received)
    const free = isQueued ? await laterSlot(entry, fields) : occupy(entry)
    try {
      await onJob(received)
    } catch (error) {
      log.error({ err: error, ...fields }, 'the job ended with an error')
    } finally {
      free()
    }
  }

  /** Resolves when a slot is free for a job that the server has already given to this runner. */
  function laterSlot(entry: FeedEntry, fields: object): Promise<() => void> {
    log.info(fields, 'the job arrived together with another one and waits until a job ends')
    const { promise, resolve } = Promise.withResolvers<() => void>()
    waitingJobs.push({ entry, begin: () => resolve(occupy(entry)) })
    return promise
  }

  /** Starts the jobs that wait and for which a slot is free, or all if the feed is closed: their owner ends them. */
  function startWaitingJobs(): void {
    for (const item of waitingJobs) {
      if (!stop.signal.aborted && (isFull() || item.entry.isFull)) continue
      waitingJobs = waitingJobs.filter((other) => other !== item)
      item.begin()
    }
  }

  /** Offers one entry after the other, so that all are polled once within the interval. */
  async function loop(): Promise<void> {
    for (let next = 0; !stop.signal.aborted;) {
      if (next >= order.length) next = 0
      const entry = order[next]
      if (entry !== undefined) offer(entry)
      next += 1
      const woken = new AbortController()
      wake = () => woken.abort()
      const waitMs = checkIntervalMs / Math.max(order.length, 1)
      turnAt = clock.monotonic() + waitMs
      await clock.sleep(waitMs, AbortSignal.any([stop.signal, woken.signal])).catch(() => undefined)
    }
  }

  function pause(): void {
    isPaused = true
    for (const entry of entries.values()) entry.abortHeld()
  }

  async function idle(): Promise<void> {
    while (work.size > 0) await Promise.all(work)
  }

  setEntries(options.entries)
  const looping = loop()

  return {
    setEntries(list, limits = {}) {
      concurrent = limits.concurrent ?? concurrent
      checkIntervalMs = limits.checkIntervalMs ?? checkIntervalMs
      setEntries(list)
      abortUseless()
      startWaitingJobs()
      offerWaiting()
    },
    pause,
    resume() {
      isPaused = false
      wake()
    },
    async drain() {
      pause()
      await idle()
    },
    occupy(key) {
      const entry = entryOf(key)
      const free = occupy(entry)
      return () => {
        free()
        forgetRemoved()
      }
    },
    isTurning: () => stop.signal.aborted || clock.monotonic() - turnAt < LATE_MS,
    running: () => total(({ running }) => running),
    state: () => [...entries.values()].map((entry) => entry.state(clock.monotonic())),
    async close() {
      stop.abort(new DOMException('the feed is closed', 'AbortError'))
      startWaitingJobs()
      await looping
      await Promise.all([...entries.values()].map((entry) => entry.requestsEnded()))
    },
  }
}
