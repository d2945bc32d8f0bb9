/**
 * A GitLab server as runners see it: the runner API over HTTP with its checks, and everything that the runner did. It runs no jobs and knows no
 * projects. Tests decide what it answers, and when it is down.
 */
import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { createServer as createHttpsServer } from 'node:https'
import { newJob, patchTrace, record, refuse, updateJob, uploadArtifacts, type FakeJob, type JobPayload } from './fake-jobs.ts'
import {
  recordRequest,
  routeOf,
  sendAnswer,
  type Answer,
  type Prepared,
  type RecordedRequest,
  type Route,
} from './fake-routes.ts'

export type { FakeJob, JobPayload, ReportedState } from './fake-jobs.ts'
export type { Answer, Prepared, RecordedRequest, Route } from './fake-routes.ts'
export type { Upload } from './multipart.ts'

export interface FakeCoordinatorOptions {
  /** PEM certificate and key. Default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string }
  /** How long a request for a job is held if there is none. Milliseconds. Default: 0. */
  readonly holdMs?: number
  /** Path of GitLab on the server, such as `/gitlab`. Default: the root. */
  readonly path?: string
  /** Default: 127.0.0.1. */
  readonly host?: string
  /** Default: any free port. */
  readonly port?: number
  /** Tokens of runners that are accepted. Default: all except `revoke`d ones. */
  readonly tokens?: readonly string[]
  /** Registration token that is accepted. Default: all. */
  readonly registrationToken?: string
  /** Expiry of new tokens, ISO time. Default: none. */
  readonly tokenExpiresAt?: string
  /** Seconds of `X-GitLab-Trace-Update-Interval`. Default: no header. */
  readonly updateInterval?: number
  /** True answers a download with `direct_download=true` with a redirect to the object storage. Default: true. */
  readonly directDownload?: boolean
}

export interface FakeCoordinator {
  /** URL of the server, with its path. */
  readonly url: string
  readonly requests: readonly RecordedRequest[]
  /** All jobs that were enqueued, by ID. */
  readonly jobs: ReadonlyMap<number, FakeJob>
  /** Number of jobs that wait for a runner. */
  readonly waiting: number
  /** Number of requests for jobs that are held at present. */
  readonly held: number
  /** Value of `X-GitLab-Last-Update` in the next answers to requests for jobs. */
  lastUpdate: string
  /** Adds a job for the next request, and answers a held one. */
  enqueue(payload: JobPayload): FakeJob
  /** Gives a job to the next request again, as GitLab does when the manager that received it never says that it runs it. */
  requeue(job: FakeJob): void
  /** Returns a job. Throws if it was not enqueued. */
  job(id: number): FakeJob
  /** Returns the requests of a route. */
  of(route: Route): RecordedRequest[]
  /** Sets the next answers of a route, each of which is used once. */
  next(route: Route, ...answers: readonly Prepared[]): void
  /** Answers all routes with a status for the next `count` requests. */
  failNext(count: number, status?: number, headers?: Answer['headers']): void
  /** Refuses connections and breaks the open ones, until `up`. */
  down(): Promise<void>
  up(): Promise<void>
  /** Answers requests with this token with 403. */
  revoke(token: string): void
  close(): Promise<void>
}

/** Starts the server. */
export async function startFakeCoordinator(options: FakeCoordinatorOptions = {}): Promise<FakeCoordinator> {
  const fake = new Fake(options)
  await fake.up()
  return fake
}

class Fake implements FakeCoordinator {
  readonly requests: RecordedRequest[] = []
  readonly jobs = new Map<number, FakeJob>()
  lastUpdate = 'first'
  readonly #options: FakeCoordinatorOptions
  readonly #queue: FakeJob[] = []
  readonly #held = new Set<() => void>()
  readonly #prepared = new Map<Route, Prepared[]>()
  readonly #revoked = new Set<string>()
  readonly #base: string
  #failing: { count: number; readonly answer: Answer } = { count: 0, answer: { status: 500 } }
  #server: Server | undefined
  #port: number
  #runners = 0

  constructor(options: FakeCoordinatorOptions) {
    this.#options = options
    this.#base = `${options.path ?? ''}/api/v4/`
    this.#port = options.port ?? 0
  }

  get url(): string {
    const { tls, host = '127.0.0.1', path = '' } = this.#options
    return `${tls === undefined ? 'http' : 'https'}://${host}:${this.#port}${path}`
  }

  get waiting(): number {
    return this.#queue.length
  }

  get held(): number {
    return this.#held.size
  }

  enqueue(payload: JobPayload): FakeJob {
    const job = newJob(payload)
    this.jobs.set(payload.id, job)
    this.requeue(job)
    return job
  }

  requeue(job: FakeJob): void {
    this.#queue.push(job)
    void this.#answerHeld()
  }

  /** Answers the oldest held request. A manager that has just ended may have left one: its connection is closed before. */
  async #answerHeld(): Promise<void> {
    for (let n = 0; n < CLOSING_TURNS; n += 1) await new Promise((resolve) => setImmediate(resolve))
    const [release] = this.#held
    // Another request may have taken the job meanwhile.
    if (this.#queue.length > 0) release?.()
  }

  job(id: number): FakeJob {
    const job = this.jobs.get(id)
    if (job === undefined) throw new Error(`job ${id} was not enqueued`)
    return job
  }

  of(route: Route): RecordedRequest[] {
    return this.requests.filter((request) => routeOf(request)?.route === route)
  }

  next(route: Route, ...answers: readonly Prepared[]): void {
    this.#prepared.set(route, [...(this.#prepared.get(route) ?? []), ...answers])
  }

  failNext(count: number, status = 500, headers: Answer['headers'] = {}): void {
    this.#failing = { count, answer: { status, headers } }
  }

  revoke(token: string): void {
    this.#revoked.add(token)
  }

  async up(): Promise<void> {
    if (this.#server !== undefined) return
    const { tls, host = '127.0.0.1' } = this.#options
    const listener = (request: IncomingMessage, response: ServerResponse): void =>
      void this.#serve(request, response).catch(() => response.destroy())
    const server = tls === undefined ? createHttpServer(listener) : createHttpsServer({ ...tls }, listener)
    this.#server = server
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject)
      server.listen(this.#port, host, resolve)
    })
    const address = server.address()
    if (address !== null && typeof address === 'object') this.#port = address.port
  }

  async down(): Promise<void> {
    const server = this.#server
    this.#server = undefined
    const closed = new Promise<void>((resolve) => (server === undefined ? resolve() : server.close(() => resolve())))
    server?.closeAllConnections()
    for (const release of this.#held) release()
    await closed
  }

  close(): Promise<void> {
    return this.down()
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const recorded = await recordRequest(request, this.#base)
    this.requests.push(recorded)
    const found = routeOf(recorded)
    const prepared = found && this.#prepared.get(found.route)?.shift()
    const send = (answer: Answer): void => {
      recorded.status = answer.status
      sendAnswer(response, answer)
    }
    if (prepared === 'break') request.socket.destroy()
    else if (prepared !== undefined && prepared !== 'break-after') send(prepared)
    else if (this.#failing.count > 0) {
      this.#failing.count -= 1
      send(this.#failing.answer)
    } else {
      const answer = found === undefined ? NOT_FOUND : await this.#answer(found, recorded, response)
      if (prepared === 'break-after') request.socket.destroy()
      else send(answer)
    }
  }

  async #answer(
    { route, id }: { route: Route; id: number },
    request: RecordedRequest,
    response: ServerResponse,
  ): Promise<Answer> {
    switch (route) {
      case 'register':
        return this.#register(request)
      case 'verify':
        return this.#accepts(request) ? { status: 200, body: this.#runner(tokenOf(request), 7) } : FORBIDDEN
      case 'unregister':
      case 'unregister-manager':
        return this.#accepts(request) ? { status: 204 } : FORBIDDEN
      case 'reset-token':
        return this.#resetToken(request, id)
      case 'request':
        return this.#accepts(request) ? this.#requestJob(request, response) : FORBIDDEN
      case 'object-storage':
        return { status: 200, body: artifactsOf(this.jobs.get(id)) ?? '' }
      case 'trace':
      case 'update':
      case 'artifacts-upload':
      case 'artifacts-download':
        return this.#ofJob(route, id, request)
    }
  }

  #register({ json }: RecordedRequest): Answer {
    const { registrationToken } = this.#options
    if (registrationToken !== undefined && record(json)['token'] !== registrationToken) return FORBIDDEN
    this.#runners += 1
    return { status: 201, body: this.#runner(`registered-token-${this.#runners}`, this.#runners) }
  }

  #resetToken(request: RecordedRequest, id: number): Answer {
    const isAllowed = id > 0 ? request.headers['private-token'] !== undefined : this.#accepts(request)
    if (!isAllowed) return FORBIDDEN
    this.#runners += 1
    const { token, token_expires_at } = this.#runner(`glrt-renewed-${this.#runners}`, id)
    return { status: 201, body: { token, token_expires_at } }
  }

  #runner(token: string, id: number): { id: number; token: string; token_expires_at: string | null } {
    return { id, token, token_expires_at: this.#options.tokenExpiresAt ?? null }
  }

  #accepts(request: RecordedRequest): boolean {
    const token = tokenOf(request)
    return !this.#revoked.has(token) && (this.#options.tokens?.includes(token) ?? token !== '')
  }

  /** Returns a job. Holds the request if there is none. */
  async #requestJob({ json }: RecordedRequest, response: ServerResponse): Promise<Answer> {
    const headers = { 'x-gitlab-last-update': this.lastUpdate }
    const { holdMs = 0 } = this.#options
    if (this.#queue.length === 0 && holdMs > 0) await this.#hold(response, holdMs)
    const job = response.destroyed ? undefined : this.#queue.shift()
    if (job === undefined) return { status: 204, headers }
    job.given.push({ systemId: String(record(json)['system_id']), at: Date.now() })
    return { status: 201, headers, body: job.payload }
  }

  /** Resolves when a job is enqueued, the time is over or the connection is closed. */
  async #hold(response: ServerResponse, holdMs: number): Promise<void> {
    const over = Promise.withResolvers<void>()
    const timer = setTimeout(over.resolve, holdMs)
    const release = (): void => {
      this.#held.delete(release)
      over.resolve()
    }
    this.#held.add(release)
    response.once('close', release)
    await over.promise
    clearTimeout(timer)
    release()
  }

  #ofJob(route: Route, id: number, request: RecordedRequest): Answer {
    const job = this.jobs.get(id)
    const refused = refuse(job, request)
    if (job === undefined || refused !== undefined) return refused ?? NOT_FOUND
    if (route === 'artifacts-upload') return uploadArtifacts(job, request)
    if (route === 'artifacts-download') return this.#download(job, request)
    const { status, headers, body } = route === 'trace' ? patchTrace(job, request) : updateJob(job, request)
    const { updateInterval } = this.#options
    const interval = updateInterval === undefined ? {} : { 'x-gitlab-trace-update-interval': String(updateInterval) }
    return { status, headers: { ...headers, ...interval }, ...(body !== undefined && { body }) }
  }

  #download(job: FakeJob, { query }: RecordedRequest): Answer {
    const bytes = artifactsOf(job)
    if (bytes === undefined) return NOT_FOUND
    const isDirect = query.get('direct_download') === 'true' && this.#options.directDownload !== false
    if (!isDirect) return { status: 200, body: bytes }
    return {
      status: 302,
      headers: { location: `${new URL(this.url).origin}${this.#base}storage/${job.payload.id}/artifacts.zip?signature=fake` },
    }
  }
}

/** Turns of the event loop after which a connection is closed whose end is known to the kernel. */
const CLOSING_TURNS = 5

const FORBIDDEN: Answer = { status: 403, body: { message: '403 Forbidden' } }
const NOT_FOUND: Answer = { status: 404, body: { message: '404 Not Found' } }

function tokenOf({ headers }: RecordedRequest): string {
  return String(headers['runner-token'] ?? '')
}

function artifactsOf(job: FakeJob | undefined): Buffer | undefined {
  return job?.artifacts ?? job?.uploads[0]?.bytes
}
