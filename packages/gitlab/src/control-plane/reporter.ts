/**
 * Reports the jobs of a manager to a Windlass server: soon after a change, and every 30 seconds. Jobs that have ended come first, and are repeated until the server has
 * answered. Then come all live jobs, in several reports if they do not fit into one, so one that is lost is made good by later ones. Jobs never wait for a report.
 */
import { randomUUID } from 'node:crypto'
import { isAbort, isRefusal, pauseMs, retry, type Clock, type Logger } from '@windlass/kit'
import { gitlabCalls, type GitlabCalls } from '@windlass/client/gitlab'
import { GITLAB_REPORT_MS, type Client } from '@windlass/protocol'
import type { EndedJob } from '../manager/views/job-view.ts'
import type { Manager } from '../manager/manager.ts'
import { buildReport } from './report.ts'

export interface ReporterOptions {
  readonly manager: Pick<Manager, 'systemId' | 'state' | 'follow'>
  /** Returns a client with the key, which may have changed after a refusal. Throws `config-invalid`. */
  readonly connect: () => Client
  readonly host: string
  readonly version: string
  readonly clock: Clock
  readonly log: Logger
}

export interface Reporter {
  /** Stops. Tells the server first what the manager has now, within a short time, unless it has to end at once. */
  close(how?: { readonly atOnce: boolean }): Promise<void>
}

/** Minimum time between two reports. Milliseconds. */
const GAP_MS = 2_000
/** Time for an answer. Milliseconds. */
const ANSWER_MS = 10_000
/** Time for the last report. Milliseconds. */
const LAST_MS = 15_000
/** Time before one of the last reports is tried again. Milliseconds. */
const AGAIN_MS = 1_000
/** Waits after reports that failed. A refusal is repeated less often, until the key or the server has changed. Milliseconds. */
const BACKOFF = { baseMs: 2_000, maxMs: 60_000 }
/** Jobs that have ended and are kept while the server is away. The oldest ones are dropped, and the server shows them as unknown. */
const MAX_ENDED = 5_000

/** Starts to report. */
export function startReporter(options: ReporterOptions): Reporter {
  return new ManagerReporter(options)
}

class ManagerReporter implements Reporter {
  readonly #options: ReporterOptions
  readonly #instance = randomUUID()
  readonly #stop = new AbortController()
  readonly #running: Promise<void>
  readonly #unfollow: () => void
  #ended: EndedJob[] = []
  /** Keys of live jobs that the reports of this round had. A round ends when the server has been told all live jobs once. */
  #told = new Set<string>()
  #seq = 0
  #failures = 0
  /** What the log says already. */
  #warned: 'refused' | 'away' | undefined
  #calls: GitlabCalls | undefined
  /** Resolved by a change. */
  #change = Promise.withResolvers<void>()

  constructor(options: ReporterOptions) {
    this.#options = options
    this.#unfollow = options.manager.follow((ended) => this.#note(ended))
    this.#running = this.#run()
  }

  async close({ atOnce }: { readonly atOnce: boolean } = { atOnce: false }): Promise<void> {
    this.#unfollow()
    this.#stop.abort(new DOMException('the reports end', 'AbortError'))
    await this.#running
    if (!atOnce) await this.#sendLast().catch((error: unknown) => this.#warn(error))
  }

  /** Tells the ends of all jobs, in as many reports as that takes. */
  async #sendLast(): Promise<void> {
    const signal = AbortSignal.timeout(LAST_MS)
    const again = { baseMs: AGAIN_MS, maxMs: AGAIN_MS, clock: this.#options.clock, signal }
    do await retry(again, () => this.#send(signal))
    while (this.#ended.length > 0)
  }

  #note(ended: EndedJob | undefined): void {
    // The first end counts: a job whose objects could not be removed is found again, and GitLab refuses its second end.
    if (ended !== undefined && !this.#ended.some(({ id, gitlab }) => id === ended.id && gitlab === ended.gitlab))
      this.#ended.push(ended)
    if (this.#ended.length > MAX_ENDED) this.#ended.shift()
    this.#change.resolve()
  }

  async #run(): Promise<void> {
    const { clock } = this.#options
    const { signal } = this.#stop
    while (!signal.aborted) {
      this.#change = Promise.withResolvers()
      const waitMs = await this.#report(signal)
      await clock.sleep(waitMs, signal).catch(() => undefined)
      await this.#untilDue(signal)
    }
  }

  /** Waits for a change, or until a report is due without one. */
  async #untilDue(signal: AbortSignal): Promise<void> {
    if (this.#failures > 0) return
    const changed = new AbortController()
    const pause = this.#options.clock.sleep(GITLAB_REPORT_MS - GAP_MS, AbortSignal.any([signal, changed.signal]))
    await Promise.race([this.#change.promise, pause.catch(() => undefined)])
    changed.abort()
  }

  /** Sends a report. Returns the time until the next one. Never rejects. */
  async #report(signal: AbortSignal): Promise<number> {
    try {
      await this.#send(signal)
      if (this.#failures > 0) this.#options.log.info('the Windlass server takes reports about jobs again')
      this.#failures = 0
      this.#warned = undefined
      return GAP_MS
    } catch (error) {
      if (isAbort(error) && signal.aborted) return 0
      this.#failures += 1
      this.#warn(error)
      if (!isRefusal(error)) return pauseMs(BACKOFF, this.#failures, error)
      this.#calls = undefined
      return BACKOFF.maxMs
    }
  }

  async #send(signal: AbortSignal): Promise<void> {
    const { manager, connect, host, version } = this.#options
    this.#calls ??= gitlabCalls(connect())
    this.#seq += 1
    const own = { instance: this.#instance, seq: this.#seq, host, version }
    const built = buildReport({ ...own, state: manager.state(), ended: this.#ended, told: this.#told })
    await this.#calls.report(manager.systemId, built.report, { signal, timeoutMs: ANSWER_MS })
    const told = new Set(built.ended)
    this.#ended = this.#ended.filter((job) => !told.has(job))
    this.#told = built.isWhole ? new Set() : new Set([...this.#told, ...built.live])
    if (this.#ended.length > 0 || !built.isWhole) this.#change.resolve()
  }

  /** Once for each kind of failure: a server that comes back may refuse the key. */
  #warn(error: unknown): void {
    const kind = isRefusal(error) ? 'refused' : 'away'
    if (kind === this.#warned) return
    this.#warned = kind
    const text =
      kind === 'refused'
        ? 'the Windlass server refuses the reports about jobs; jobs run as before. Replace the key in its file, or upgrade a server that is older than the manager'
        : 'the Windlass server takes no reports about jobs; jobs run as before, and the reports are tried again. Check the URL if this stays'
    this.#options.log.warn({ err: error }, text)
  }
}
