/**
 * Keeps a tunnel open: connects again after a loss, with a new token beside the old connection, and before the server stops. Exactly one connection gets new
 * calls; those before it end theirs.
 */
import { randomUUID } from 'node:crypto'
import { backoffMs, isFault, pauseMs, type Clock, type Logger, type ProxySettings } from '@windlass/kit'
import type { Meter } from '../exchange/exchange.ts'
import { connect, type Connection } from './connection.ts'
import { openRouter } from './serve-call.ts'
import { watchToken, readToken } from './token-source.ts'

/** Delays between tries. Milliseconds. */
const BACKOFF = { baseMs: 1_000, maxMs: 60_000 }
/** A connection that lasted this long resets the delays. Milliseconds. */
const STABLE_MS = 60_000
/** A server that holds the request of a client that waits does so longer. Milliseconds. */
const HELD_AT_LEAST_MS = 1_000
/** Maximum time for calls in progress when this process stops. Milliseconds. */
const DRAIN_MS = 25_000

export interface TunnelClientOptions {
  /** Base URL of the server of the tunnel, such as `https://register.tunnels.example.com`. */
  readonly server: URL
  readonly runtime: string
  readonly tokenFile: string
  /** Where calls go, such as `http://internal-router`. */
  readonly router: URL
  readonly prefixes: readonly string[]
  readonly version: string
  readonly ca?: string | undefined
  readonly routerCa?: string | undefined
  readonly proxy: ProxySettings
  /** True for one of several clients of the runtime: it waits until the one that is connected has left. Default: false. */
  readonly isStandby?: boolean | undefined
  readonly clock: Clock
  readonly log: Logger
}

export interface TunnelClientStatus {
  /** True while a connection gets calls. */
  readonly isOnline: boolean
  /** True while it waits for the place of another client. */
  readonly isWaiting: boolean
  /** Where callers reach the runtime; undefined before the first connection. */
  readonly url: string | undefined
  /** Why the last try to connect failed; undefined once it has succeeded. */
  readonly problem: string | undefined
  /** Connections that were made. */
  readonly connections: number
  readonly failures: number
  /** Calls in progress. */
  readonly streams: number
  /** Calls that have ended, by outcome. */
  readonly calls: Readonly<Record<string, number>>
  readonly sentBytes: number
  readonly receivedBytes: number
}

export interface TunnelClient {
  status(): TunnelClientStatus
  /** Ends the calls in progress and closes. */
  close(): Promise<void>
}

/** Starts the client. It never gives up. Throws `config-invalid` if there is no token yet. */
export function startTunnelClient(options: TunnelClientOptions): TunnelClient {
  return new Client(options)
}

class Client implements TunnelClient {
  readonly #options: TunnelClientOptions
  readonly #clientId = randomUUID()
  readonly #stopped = new AbortController()
  readonly #router: ReturnType<typeof openRouter>
  readonly #ended: Promise<unknown>
  #token: string
  /** Resolved by the next change of the token. */
  #rotation = Promise.withResolvers<'rotated'>()
  #current: Connection | undefined
  /** Connections that end their calls. */
  readonly #draining = new Set<Connection>()
  #url: string | undefined
  #problem: string | undefined
  #isWaiting = false
  #connections = 0
  #failures = 0
  readonly #calls: Record<string, number> = {}
  #sentBytes = 0
  #receivedBytes = 0

  constructor(options: TunnelClientOptions) {
    this.#options = options
    this.#token = readToken(options.tokenFile)
    const meter: Meter = {
      sent: (bytes) => {
        this.#receivedBytes += bytes
      },
      received: (bytes) => {
        this.#sentBytes += bytes
      },
    }
    this.#router = openRouter({ ...options, meter })
    const { clock, log, tokenFile } = options
    const watched = { file: tokenFile, token: this.#token }
    const watching = { clock, log, signal: this.#stopped.signal }
    this.#ended = Promise.all([this.#run(), watchToken(watched, watching, (token) => this.#rotate(token))])
  }

  status(): TunnelClientStatus {
    const all = [...this.#draining, ...(this.#current === undefined ? [] : [this.#current])]
    return {
      isOnline: this.#current !== undefined,
      isWaiting: this.#isWaiting,
      url: this.#url,
      problem: this.#problem,
      connections: this.#connections,
      failures: this.#failures,
      streams: all.reduce((sum, connection) => sum + connection.streams(), 0),
      calls: { ...this.#calls },
      sentBytes: this.#sentBytes,
      receivedBytes: this.#receivedBytes,
    }
  }

  async close(): Promise<void> {
    this.#stopped.abort()
    const open = [...this.#draining, ...(this.#current === undefined ? [] : [this.#current])]
    await Promise.all([this.#ended, ...open.map((connection) => connection.drain(DRAIN_MS))])
    this.#router.close()
  }

  #rotate(token: string): void {
    this.#options.log.info('the token has changed')
    this.#token = token
    this.#rotation.resolve('rotated')
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopped
    /** Tries since the last stable connection. */
    let tries = 0
    while (!signal.aborted) {
      // What changes from here on is not part of this try.
      this.#rotation = Promise.withResolvers()
      let connection: Connection
      const begunAt = this.#options.clock.monotonic()
      try {
        connection = await this.#connect()
      } catch (error) {
        if (signal.aborted) return
        if (this.#waitsAfter(error, begunAt)) continue
        this.#noteFailure(error)
        tries += 1
        await this.#pauseAfter(error, tries)
        continue
      }
      const since = this.#options.clock.monotonic()
      const waitMs = await this.#use(connection)
      tries = this.#options.clock.monotonic() - since >= STABLE_MS ? 0 : tries + 1
      await this.#pause(waitMs ?? backoffMs(BACKOFF, Math.max(1, tries)))
    }
  }

  /** Returns true if another client has the place and this one waits for it. A server that does not hold the request of one that waits is asked as by others. */
  #waitsAfter(error: unknown, begunAt: number): boolean {
    const { isStandby, clock, log } = this.#options
    const wasHeld = this.#isWaiting
    this.#isWaiting = isStandby === true && isFault(error, 'tunnel-taken')
    if (!this.#isWaiting) return false
    if (!wasHeld) log.info('another client of the runtime is connected; this one waits for its place')
    return !wasHeld || clock.monotonic() - begunAt >= HELD_AT_LEAST_MS
  }

  /** Waits after a try that has failed, at least as long as the server asks. A new token does not shorten that: it was not the reason. */
  async #pauseAfter(error: unknown, tries: number): Promise<void> {
    const ms = pauseMs(BACKOFF, tries, error)
    const isAsked = isFault(error) && error.details['retryAfter'] !== undefined
    if (isAsked) await this.#options.clock.sleep(ms, this.#stopped.signal).catch(() => undefined)
    else await this.#pause(ms)
  }

  /** Waits, unless the token changes or the client stops. */
  async #pause(ms: number): Promise<void> {
    const over = new AbortController()
    const signal = AbortSignal.any([this.#stopped.signal, over.signal])
    await Promise.race([this.#options.clock.sleep(ms, signal).catch(() => undefined), this.#rotation.promise])
    over.abort()
  }

  /** Connects. Throws the faults of `connect`, and the reason of the signal if the client stops. */
  async #connect(): Promise<Connection> {
    const { signal } = this.#stopped
    const connection = await connect({
      ...this.#options,
      token: this.#token,
      waits: this.#isWaiting,
      clientId: this.#clientId,
      signal,
      serve: async (exchange) => {
        const outcome = await this.#router.serve(exchange)
        this.#calls[outcome] = (this.#calls[outcome] ?? 0) + 1
      },
    })
    if (signal.aborted) connection.close()
    signal.throwIfAborted()
    return this.#adopt(connection)
  }

  #noteFailure(error: unknown): void {
    this.#failures += 1
    const problem = isFault(error) ? `${error.message} ${error.hint}` : String(error)
    const code = isFault(error) ? error.code : undefined
    if (problem !== this.#problem) this.#options.log.warn({ problem, code }, 'tunnel not connected')
    this.#problem = problem
  }

  /** Makes a connection the one that gets calls. The server sends none over an earlier one from now on. */
  #adopt(connection: Connection): Connection {
    this.#retire()
    this.#connections += 1
    this.#problem = undefined
    this.#isWaiting = false
    this.#url = connection.welcome.url
    this.#current = connection
    this.#options.log.info({ session: connection.welcome.session, url: this.#url }, 'tunnel connected')
    void connection.closed.then(() => {
      if (this.#current !== connection) return
      this.#current = undefined
      if (!this.#stopped.signal.aborted) this.#options.log.warn('tunnel lost')
    })
    return connection
  }

  #retire(): void {
    const earlier = this.#current
    if (earlier === undefined) return
    this.#current = undefined
    this.#draining.add(earlier)
    void earlier.closed.then(() => this.#draining.delete(earlier))
  }

  /** Resolves when another connection has to be made, with the delay before it; undefined after a loss. */
  async #use(connection: Connection): Promise<number | undefined> {
    const stop = Promise.withResolvers<'stopped'>()
    this.#stopped.signal.addEventListener('abort', () => stop.resolve('stopped'), { once: true })
    const closed = connection.closed.then(() => 'closed' as const)
    const next = await Promise.race([closed, connection.goaway, this.#rotation.promise, stop.promise])
    if (next === 'closed') return undefined
    if (next === 'stopped' || next === 'rotated') return 0
    this.#options.log.info({ reason: next.reason, reconnectAfterMs: next.reconnectAfterMs }, 'the server asks to connect again')
    this.#retire()
    return next.reconnectAfterMs
  }
}
