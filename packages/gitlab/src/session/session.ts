/** The session of one job: the address and the token that GitLab gets with the request for the job, and the one terminal that can be open. */
import { randomBytes } from 'node:crypto'
import { isAbort, sha256, tokenMatches, type Clock, type Logger } from '@windlass/kit'
import type { WebSocket } from 'ws'
import type { SessionOffer } from '../coordinator/job-request.ts'
import { serveConnection } from './connection.ts'
import type { Subprotocol } from './subprotocol.ts'
import type { Terminal } from './terminal.ts'

export interface SessionOptions {
  /** Base of the addresses of sessions, without a slash at its end. */
  readonly base: string
  /** Certificate of the server. PEM. */
  readonly certificate: string
  /** Longest time for which the end of the job waits for its terminal. Seconds. */
  readonly timeoutS: number
  readonly clock: Clock
  readonly log: Logger
  /** Aborted when the manager stops. */
  readonly signal: AbortSignal
  /** Called when the session has ended. */
  readonly onEnd: (session: Session) => void
}

export class Session {
  /** Random, and part of the address. */
  readonly id = randomBytes(16).toString('hex')
  /** What GitLab gets. */
  readonly offer: SessionOffer
  readonly timeoutS: number
  readonly #options: SessionOptions
  readonly #tokenHash: string
  #terminal: { readonly terminal: Terminal; readonly jobId: number } | undefined
  /** The last connection. */
  #socket: WebSocket | undefined
  /** True when the manager drains. */
  #isReleased = false

  constructor(options: SessionOptions) {
    const token = randomBytes(32).toString('base64url')
    this.#options = options
    this.#tokenHash = sha256(token)
    this.timeoutS = options.timeoutS
    this.offer = { url: `${options.base}/session/${this.id}`, certificate: options.certificate, authorization: token }
  }

  /** Whether a terminal is open. */
  get isOpen(): boolean {
    return this.#socket !== undefined && this.#socket.readyState === this.#socket.OPEN
  }

  /** Whether the header `Authorization` has the token. Takes the same time for every text. */
  accepts(authorization: string | undefined): boolean {
    return tokenMatches(authorization ?? '', this.#tokenHash)
  }

  /** Returns why a terminal cannot be opened now, as a status of HTTP: 503 without a pod, 423 while one is open. Undefined if it can. */
  refusal(): 423 | 503 | undefined {
    if (this.#terminal === undefined || this.#terminal.terminal.over.aborted || this.#isReleased) return 503
    return this.isOpen ? 423 : undefined
  }

  /** Allows terminals from now on: the pod of the job runs. */
  attach(jobId: number, terminal: Terminal): void {
    this.#terminal = { terminal, jobId }
  }

  /** Serves a connection until it ends. `refusal` must have returned undefined. */
  async serve(socket: WebSocket, subprotocol: Subprotocol): Promise<void> {
    const { clock, log, signal } = this.#options
    if (this.#terminal === undefined || this.isOpen) throw new Error('a terminal cannot be opened now')
    const { terminal, jobId: job } = this.#terminal
    // A user who loads the page again has a new connection before the shell of the former one has ended.
    this.#socket = socket
    log.info({ job }, 'a user has opened a terminal')
    const { by, error } = await serveConnection({ socket, subprotocol, terminal, clock, signal })
    if (error !== undefined && !isAbort(error)) log.warn({ err: error, job }, 'the terminal cannot be opened, or was lost')
    log.info({ job, by }, 'the terminal is closed')
  }

  /** Lets the job end although a terminal is open, and allows no other one. */
  async release(): Promise<void> {
    this.#isReleased = true
    if (this.isOpen) await this.#terminal?.terminal.release()
  }

  /** Ends the session: its address does not exist any more. */
  close(): void {
    this.#options.onEnd(this)
  }
}
