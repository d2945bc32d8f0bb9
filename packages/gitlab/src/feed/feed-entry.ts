/** One runner entry in the feed: its jobs, its requests and its health. */
import type { Logger } from '@windlass/kit'
import { HEALTHY, healthAfter, type HealthLimits } from './entry-health.ts'
import type { JobRequestResult } from '../coordinator/job-request.ts'
import { requestLimitAfter } from './request-limit.ts'

export interface RunnerEntry extends HealthLimits {
  /** Identifies the server and the token: an entry with another token has another key. */
  readonly key: string
  /** Maximum number of jobs of the entry. 0: only limited by `concurrent`. */
  readonly limit: number
  /** Maximum number of requests at the same time. */
  readonly requestConcurrency: number
  /** True if the number of requests adapts to the answers, between 1 and `requestConcurrency`. Default: true. */
  readonly isAdaptive?: boolean
  /** True if the entry waits for its turn after it received a job. Default: false. */
  readonly strictCheckInterval?: boolean
}

export interface EntryState {
  readonly key: string
  readonly running: number
  /** Requests in progress, including those that the server holds. */
  readonly requests: number
  /** Number of requests that the entry may make at the same time at present. */
  readonly requestLimit: number
  readonly isPaused: boolean
}

/** One request in progress. */
export interface OpenRequest {
  readonly signal: AbortSignal
  /** Marks the request as held by the server: it does not reserve the slot of a job anymore. */
  hold(): void
  abort(): void
  /** Ends the request. */
  end(): void
}

export class FeedEntry {
  settings: RunnerEntry
  /** Number of occupied slots. */
  running = 0
  lastUpdate: string | undefined
  #health = HEALTHY
  #requestLimit = 1
  readonly #requests = new Map<AbortController, { isHeld: boolean; readonly ended: Promise<void> }>()

  constructor(settings: RunnerEntry) {
    this.settings = settings
  }

  /** Number of slots that are reserved for requests. */
  get reserved(): number {
    return [...this.#requests.values()].filter(({ isHeld }) => !isHeld).length
  }

  get isIdle(): boolean {
    return this.running === 0 && this.#requests.size === 0
  }

  /** Returns true if the entry is healthy, and its own limits allow one more request. `now` is monotonic. */
  mayRequest(now: number): boolean {
    const { limit } = this.settings
    const hasSlot = limit <= 0 || this.running + this.reserved < limit
    return hasSlot && this.#requests.size < this.#allowed() && now >= this.#health.pausedUntil
  }

  #allowed(): number {
    const { requestConcurrency, isAdaptive = true } = this.settings
    return Math.max(1, isAdaptive ? Math.min(Math.ceil(this.#requestLimit), requestConcurrency) : requestConcurrency)
  }

  openRequest(): OpenRequest {
    const controller = new AbortController()
    const ended = Promise.withResolvers<void>()
    const opened = { isHeld: false, ended: ended.promise }
    this.#requests.set(controller, opened)
    return {
      signal: controller.signal,
      hold: () => {
        opened.isHeld = true
        if (this.isFull) controller.abort(ABORTED)
      },
      abort: () => controller.abort(ABORTED),
      end: () => {
        this.#requests.delete(controller)
        ended.resolve()
      },
    }
  }

  /** True if its jobs use up the limit of the entry. */
  get isFull(): boolean {
    return this.settings.limit > 0 && this.running >= this.settings.limit
  }

  /** Aborts the requests that the server holds. */
  abortHeld(): void {
    for (const [controller, { isHeld }] of this.#requests) if (isHeld) controller.abort(ABORTED)
  }

  /** Resolves when the requests in progress have ended. */
  async requestsEnded(): Promise<void> {
    await Promise.all([...this.#requests.values()].map(({ ended }) => ended))
  }

  /** Takes the answer of a request into account. */
  learn(result: JobRequestResult, now: number, log: Logger): void {
    this.lastUpdate = result.lastUpdate ?? this.lastUpdate
    this.#requestLimit = requestLimitAfter(this.#requestLimit, result, this.settings.requestConcurrency)
    this.#health = healthAfter(this.#health, result.outcome, this.settings, now)
    const pauseMs = Math.round(this.#health.pausedUntil - now)
    if (pauseMs <= 0) return
    const fields = { runner: this.settings.key, pauseMs }
    if (result.outcome === 'forbidden')
      log.error(fields, 'GitLab refuses the token of the runner; check in GitLab that the runner exists')
    else log.warn(fields, 'requests for jobs are paused after a failure of the server')
  }

  state(now: number): EntryState {
    const { key } = this.settings
    return {
      key,
      running: this.running,
      requests: this.#requests.size,
      requestLimit: this.#allowed(),
      isPaused: now < this.#health.pausedUntil,
    }
  }
}

const ABORTED = new DOMException('no slot is left for another job', 'AbortError')
