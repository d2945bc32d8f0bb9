/** The connection of one client, as the server sees it: the HTTP/2 client inside it, heartbeats, and its end. */
import http2, { type ClientHttp2Session } from 'node:http2'
import { aborted, ticks, type Clock } from '@windlass/kit'
import type { WebSocket } from 'ws'
import type { Exchange, Meter, Outcome } from '../exchange/exchange.ts'
import { callOverHttp2 } from '../exchange/over-http2.ts'
import { CONNECTION_WINDOW, MAX_STREAMS, SESSION_OPTIONS } from '../link/http2-settings.ts'
import { openSocketStream } from '../link/socket-stream.ts'
import { readClientMessage, type GoawayReason, type ServerMessage } from '../protocol.ts'
import { nameOf } from './hosts.ts'
import type { Session } from './registry.ts'

export interface LinkTimings {
  /** Interval of pings. */
  readonly heartbeatMs: number
  /** Silence after which a connection is closed. */
  readonly deadMs: number
  /** Time without any bytes after which a call ends. */
  readonly idleMs: number
  /** Maximum time for the calls in progress of a connection that gets no more. */
  readonly drainMs: number
}

export interface LinkOptions {
  readonly socket: WebSocket
  readonly session: Session
  /** Where callers reach the runtime. */
  readonly url: string
  readonly timings: LinkTimings
  readonly clock: Clock
  readonly meter: Meter
  /** Called for each answer of the client, from when calls can be sent until the connection gets no more. */
  readonly onAlive: (link: Link) => void
  /** Called when the client says that it stops. */
  readonly onStopping: (link: Link) => void
}

export class Link {
  readonly session: Session
  /** Aborted when the connection is closed. */
  readonly closed: AbortSignal
  /** Resolves to true when calls can be sent, and to false if the connection closed before. */
  readonly ready: Promise<boolean>
  readonly #options: LinkOptions
  readonly #gone = new AbortController()
  readonly #http: ClientHttp2Session
  readonly #destroy: () => void
  #heardAt: number
  #streams = 0
  #isReady = false
  #isDraining = false
  #rtt: number | undefined
  /** What the last ping contained, until it is answered. */
  #pinged: string | undefined

  constructor(options: LinkOptions) {
    const { socket, session, clock } = options
    this.#options = options
    this.session = session
    this.closed = this.#gone.signal
    this.#heardAt = clock.monotonic()
    const stream = openSocketStream(socket, (text) => {
      // Once is enough: each is noted.
      if (readClientMessage(text) === undefined || this.#isDraining) return
      this.#endWhenIdle()
      options.onStopping(this)
    })
    stream.on('error', () => undefined)
    this.#destroy = () => void stream.destroy()
    this.#http = http2.connect('http://tunnel', { ...SESSION_OPTIONS, createConnection: () => stream })
    // The end of the WebSocket says the same.
    this.#http.on('error', () => undefined)
    this.#http.setLocalWindowSize(CONNECTION_WINDOW)
    const ready = Promise.withResolvers<boolean>()
    this.ready = ready.promise
    // Says that the client can switch protocols, and how many calls it takes.
    this.#http.once('remoteSettings', () => {
      this.#isReady = true
      ready.resolve(true)
      // Calls can follow at once, so the client is online when it reads this.
      const { url, timings } = options
      this.#send({ type: 'welcome', session: session.id, url, heartbeatMs: timings.heartbeatMs, deadMs: timings.deadMs })
    })
    socket.once('close', () => {
      this.#gone.abort()
      this.#http.destroy()
      ready.resolve(false)
    })
    socket.on('message', () => this.#hear())
    socket.on('pong', (data) => {
      this.#hear()
      // Each answer is noted in the database, so only one to the last ping counts.
      if (this.#pinged === undefined || data.toString() !== this.#pinged) return
      this.#rtt = Math.max(0, clock.monotonic() - Number(this.#pinged))
      this.#pinged = undefined
      // A client that answers pings and takes no calls has no use yet.
      if (this.#isReady && !this.#isDraining) options.onAlive(this)
    })
    void this.#beat()
  }

  /** True if calls can be sent. */
  get isOpen(): boolean {
    return this.#isReady && !this.#isDraining && !this.closed.aborted && !this.#http.closed
  }

  /** True if no more calls fit. */
  get isFull(): boolean {
    return this.#streams >= MAX_STREAMS
  }

  /** Calls in progress. */
  get calls(): number {
    return this.#streams
  }

  /** Time of the last ping and its answer, milliseconds; undefined before the first answer. */
  get rttMs(): number | undefined {
    return this.#rtt
  }

  /** Passes a call to the client. See `callOverHttp2`. */
  async forward(exchange: Exchange): Promise<Outcome> {
    this.#streams += 1
    try {
      const { timings, meter } = this.#options
      const host = nameOf(exchange.authority)
      return await callOverHttp2(exchange, { session: this.#http, host, idleMs: timings.idleMs, meter })
    } finally {
      this.#streams -= 1
      if (this.#isDraining && this.#streams === 0) this.close()
    }
  }

  /** Asks the client to connect again, sends no more calls, and closes when those in progress have ended. */
  leave(reason: GoawayReason, reconnectAfterMs: number): void {
    if (this.#isDraining) return
    this.#send({ type: 'goaway', reason, reconnectAfterMs })
    this.#endWhenIdle()
  }

  /** Closes with a closing handshake, and without one if the client does not answer. */
  close(): void {
    const { socket, clock } = this.#options
    socket.close(1000)
    void Promise.race([aborted(this.closed), clock.sleep(CLOSE_MS, this.closed).catch(() => undefined)]).then(() =>
      this.#destroy(),
    )
  }

  #endWhenIdle(): void {
    this.#isDraining = true
    if (this.#streams === 0) return this.close()
    const { clock, timings } = this.#options
    void clock.sleep(timings.drainMs, this.closed).then(
      () => this.close(),
      () => undefined,
    )
    return undefined
  }

  #hear(): void {
    this.#heardAt = this.#options.clock.monotonic()
  }

  #send(message: ServerMessage): void {
    const { socket } = this.#options
    if (socket.readyState === socket.OPEN) socket.send(JSON.stringify(message))
  }

  async #beat(): Promise<void> {
    const { clock, socket, timings } = this.#options
    for await (const _ of ticks(timings.heartbeatMs, { clock, signal: this.closed })) {
      if (clock.monotonic() - this.#heardAt >= timings.deadMs) return this.#destroy()
      if (socket.readyState !== socket.OPEN) continue
      this.#pinged = String(clock.monotonic())
      socket.ping(this.#pinged)
    }
    return undefined
  }
}

/** Maximum time for the closing handshake. Milliseconds. */
const CLOSE_MS = 1_000
