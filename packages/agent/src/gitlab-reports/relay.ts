/**
 * Passes the reports of a manager of GitLab runners in the same pod on to the server (docs/development/adr/0124). The manager needs no key: the relay listens on the loopback
 * interface only, and does nothing but this one call. Jobs never wait for it.
 */
import http from 'node:http'
import { GITLAB_ROUTES, type AgentCalls } from '@windlass/client/agent'
import { exposition, fault, isFault, parseJson, readText, type Clock, type Fault, type Logger } from '@windlass/kit'
import {
  GITLAB_REPORT_MS,
  GitlabManagerId,
  GitlabReport,
  LIVE_GITLAB_STATES,
  MAX_GITLAB_REPORT_BODY_BYTES,
  MAX_REPORTED_GITLAB_JOBS,
  type GitlabReportAnswer,
} from '@windlass/protocol'
import type { FoundFindings } from '../executor.ts'
import { failureMessage } from '../failure-message.ts'

export interface RelayOptions {
  readonly server: Pick<AgentCalls, 'reportGitlabJobs'>
  /** Port on the loopback interface; 0 for any free one. */
  readonly port: number
  readonly clock: Clock
  readonly log: Logger
}

export interface ReportRelay extends AsyncDisposable {
  readonly port: number
  /**
   * Resolves when the manager has nothing more to report: it has sent its last report, or has been silent for too long. Resolves soon if the manager continues to ask for jobs,
   * because then only the agent was told to stop. Never rejects.
   */
  drained(): Promise<void>
  /** What a check of the agent says about the manager. */
  finding(): FoundFindings[number]
  /** Metrics in the text format of Prometheus. */
  metrics(): string
}

/** What comes before the system ID of the manager: the path of the server, whose client the manager uses. */
const PATH = GITLAB_ROUTES.report.path.replace('{id}', '')
/**
 * Silence after which a manager counts as gone, and time within which one that stops with its agent reports that it asks for no more jobs. A manager pauses for up to a minute
 * after reports that the server did not take. Milliseconds.
 */
const SILENT_MS = 2.5 * GITLAB_REPORT_MS
/** Interval at which `drained` looks. Milliseconds. */
const LOOK_MS = 250
/** Time for an answer of the server, which is shorter than that of the manager. Milliseconds. */
const ANSWER_MS = 8_000
/** Concurrent calls. A manager makes one at a time, and a new one may begin before the old one has ended. */
const MAX_CALLS = 4
/** Longest time for the headers and the body of a request. Milliseconds. */
const REQUEST_MS = 10_000

/** The latest report. */
interface Last {
  readonly manager: string
  readonly instance: string
  readonly seq: number
  /** Monotonic time. Milliseconds. */
  readonly at: number
  readonly isAsking: boolean
  /** Jobs that have not ended. */
  readonly jobs: number
  /** Why the server did not take it. */
  readonly problem: string | undefined
}

/** Serves until disposed. Rejects if the port is in use. */
export async function serveReportRelay(options: RelayOptions): Promise<ReportRelay> {
  const relay = new Relay(options)
  await relay.listen()
  return relay
}

class Relay implements ReportRelay {
  readonly #options: RelayOptions
  readonly #server: http.Server
  #calls = 0
  #last: Last | undefined

  constructor(options: RelayOptions) {
    this.#options = options
    this.#server = http.createServer((request, response) => void this.#serve(request, response))
    this.#server.headersTimeout = REQUEST_MS
    this.#server.requestTimeout = REQUEST_MS
  }

  async listen(): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    this.#server.once('error', reject).listen(this.#options.port, '127.0.0.1', resolve)
    await promise
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : this.#options.port
  }

  async #serve(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    try {
      const answer = await this.#relay(request)
      send(response, 200, answer)
    } catch (error) {
      const problem = isFault(error) ? error : fault('internal', {}, error)
      send(response, problem.status, toProblem(problem))
    }
  }

  async #relay(request: http.IncomingMessage): Promise<GitlabReportAnswer> {
    const { url = '', method } = request
    const id = url.startsWith(PATH) ? GitlabManagerId.safeParse(url.slice(PATH.length)).data : undefined
    if (method !== GITLAB_ROUTES.report.method || id === undefined)
      throw fault('not-found', { message: 'The agent only passes on reports of managers of GitLab runners.' })
    if (this.#calls >= MAX_CALLS) throw fault('unavailable', { message: 'The agent already passes on reports of this manager.' })
    this.#calls += 1
    try {
      const text = await readText(request, MAX_GITLAB_REPORT_BODY_BYTES, () => fault('payload-too-large'))
      return await this.#pass(id, readReport(text))
    } finally {
      this.#calls -= 1
    }
  }

  async #pass(id: string, report: GitlabReport): Promise<GitlabReportAnswer> {
    const { server, clock, log } = this.#options
    const live = report.jobs.filter(({ state }) => LIVE_GITLAB_STATES.some((of) => of === state)).length
    // A full report tells ends first, and may leave out live jobs. Managers of earlier versions do not say that it is full.
    const isFull = report.hasMore === true || report.jobs.length >= MAX_REPORTED_GITLAB_JOBS
    const jobs = isFull ? Math.max(live, 1) : live
    const { instance, seq, isAsking } = report
    const last = { manager: id, instance, seq, at: clock.monotonic(), isAsking, jobs, problem: undefined }
    if (this.#last?.manager !== id) log.info({ manager: id }, 'passes on the reports of a manager of GitLab runners')
    this.#keep({ ...last, problem: this.#last?.problem })
    try {
      const answer = await server.reportGitlabJobs(id, report, { timeoutMs: ANSWER_MS })
      this.#keep(last)
      return answer
    } catch (error) {
      // The manager logs it.
      this.#keep({ ...last, problem: failureMessage(error) })
      throw error
    }
  }

  /** Keeps what a report says, unless a later one of the same process was there first: calls can overtake each other. */
  #keep(next: Last): void {
    const last = this.#last
    const isLate = last?.manager === next.manager && last.instance === next.instance && next.seq < last.seq
    if (!isLate) this.#last = next
  }

  async drained(): Promise<void> {
    const { clock } = this.#options
    const until = clock.monotonic() + SILENT_MS
    while (!this.#isDrained(until)) await clock.sleep(LOOK_MS)
  }

  #isDrained(until: number): boolean {
    if (this.#last === undefined || this.#isSilent(this.#last)) return true
    if (this.#last.isAsking) return this.#options.clock.monotonic() > until
    // The manager tries again what the server did not take.
    return this.#calls === 0 && this.#last.jobs === 0 && this.#last.problem === undefined
  }

  #isSilent({ at }: Last): boolean {
    return this.#options.clock.monotonic() - at > SILENT_MS
  }

  finding(): FoundFindings[number] {
    const check = 'GitLab manager'
    const hint = 'See the log of the container `gitlab-runner` in the pod of the agent.'
    const last = this.#last
    if (last === undefined) return { check, status: 'warn', message: 'no manager has reported since the agent started', hint }
    const { manager, isAsking, jobs, problem } = last
    const seconds = Math.round((this.#options.clock.monotonic() - last.at) / 1_000)
    if (this.#isSilent(last)) return { check, status: 'warn', message: `${manager} has not reported for ${seconds} s`, hint }
    if (problem !== undefined)
      return {
        check,
        status: 'warn',
        message: `the server did not take the last report of ${manager}: ${problem}`,
        hint: 'Jobs run as before. Upgrade the server if it is older than the agent.',
      }
    const doing = isAsking ? 'asks GitLab for jobs' : 'asks for no more jobs'
    return { check, status: 'pass', message: `${manager} ${doing}, and has ${jobs === 1 ? '1 job' : `${jobs} jobs`}` }
  }

  metrics(): string {
    const last = this.#last
    const value = last === undefined ? -1 : (this.#options.clock.monotonic() - last.at) / 1_000
    return exposition([
      {
        name: 'windlass_agent_gitlab_reported_ago_seconds',
        help: 'Seconds since the last report of the manager of GitLab runners in this pod; -1 if there was none.',
        samples: [{ value }],
      },
    ])
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((done) => this.#server.close(done))
  }
}

/** Throws `request-invalid`. */
function readReport(text: string): GitlabReport {
  const { data, error } = GitlabReport.safeParse(parseJson(text))
  if (data !== undefined) return data
  const at = error?.issues[0]?.path.join('.') ?? ''
  throw fault('request-invalid', {
    message: `The report is not valid${at === '' ? '' : ` at ${at}`}.`,
    hint: 'Use managers and agents of the same version.',
  })
}

function toProblem({ code, status, message, hint }: Fault): object {
  return { type: `urn:windlass:fault:${code}`, title: message, status, detail: message, message, code, hint }
}

/** A refused body may not have been read, so its connection ends. */
function send(response: http.ServerResponse, status: number, body: object): void {
  const type = status < 400 ? 'application/json' : 'application/problem+json'
  response.writeHead(status, { 'content-type': type, ...(status >= 400 && { connection: 'close' }) }).end(JSON.stringify(body))
}
