/**
 * The public side of tunnels. Clients in clusters register with a WebSocket, and calls to the host of a runtime go through its connection, or through another
 * server that has it. Not here: who may register and where connections are (`registry.ts`), and what crosses (`exchange/`).
 */
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import { aborted, fault, isFault, type FaultCode, type Metric } from '@windlass/kit'
import { CALL_SERVER } from '../exchange/call-server.ts'
import type { Exchange, Meter, Outcome } from '../exchange/exchange.ts'
import { headOf, headOfPeer, requestIdOf } from '../exchange/forwarded.ts'
import { fromHere, type OwnAnswer } from '../exchange/from-here.ts'
import { fromHttp1, fromUpgrade } from '../exchange/from-http1.ts'
import { refuse } from '../exchange/refuse.ts'
import { TUNNEL_PATH } from '../protocol.ts'
import { Buckets, slowdown, type Rate } from './buckets.ts'
import { isBelow, prefixOf } from './hosts.ts'
import type { Link, LinkTimings } from './link.ts'
import { Links } from './links.ts'
import { metricsOf } from './metrics.ts'
import { networkOf } from './network-of.ts'
import type { Certificate, OwnRequest, TunnelServerOptions } from './options.ts'
import { FAULTS, unknownHost } from './outcomes.ts'
import { Peers } from './peers.ts'
import { Registration } from './registration.ts'
import { Routes } from './routes.ts'
import { Standbys } from './standbys.ts'

export const TIMINGS: LinkTimings = { heartbeatMs: 15_000, deadMs: 45_000, idleMs: 300_000, drainMs: 60_000 }

/** Calls of one address. A page of a runtime makes some dozens at once. */
const CALL_RATE: Rate = { perSecond: 100, burst: 1_000 }
/** Time for calls in progress when the server closes. Milliseconds. */
const CLOSE_MS = 3_000
/** Time until the ends of connections are noted when the server closes. Milliseconds. */
const SETTLE_MS = 1_000
/** Calls of one address in progress, so that one caller does not take all those of a runtime. */
const CALLS_AT_ONCE = 250
/** Clients connect again within this time after a server said that it stops, so that not all come at once. Milliseconds. */
const SPREAD_MS = 1_000

export interface TunnelServer {
  /** Serves HTTP and WebSockets. The caller listens. */
  readonly http: http.Server
  /**
   * Sends a call of this process to a runtime, by the label of its host. Resolves when the answer begins. Throws the faults with which calls of others are refused, such as
   * `tunnel-offline`, and the reason of the signal. The limits for callers do not count.
   */
  call(prefix: string, request: OwnRequest): Promise<OwnAnswer>
  /** Forgets where connections are. Call it when they may have moved. */
  forgetRoutes(): void
  /** Lets the registry decide again about the connections of a runtime, for example after a token was revoked. */
  recheck(runtimeId: string): Promise<void>
  /** Uses another certificate for new connections. Throws if it is not valid, and keeps the earlier one. Has no effect without TLS. */
  setCertificate(certificate: Certificate): void
  metrics(): Metric[]
  /** Asks the clients to connect to another server, waits shortly for calls in progress, and closes all connections. */
  close(): Promise<void>
}

export function openTunnelServer(options: TunnelServerOptions): TunnelServer {
  return new Server(options)
}

class Server implements TunnelServer {
  readonly http: http.Server
  readonly #options: TunnelServerOptions
  readonly #timings: LinkTimings
  readonly #links: Links
  readonly #standbys: Standbys
  readonly #registration: Registration
  readonly #callers: Buckets
  /** By the address or network of the caller, see `networkOf`. */
  readonly #inProgress = new Map<string, number>()
  readonly #routes: Routes
  readonly #peers: Peers
  readonly #outcomes = new Map<Outcome | FaultCode, number>()
  /** Connections of clients and callers, also those that have switched protocols. */
  readonly #sockets = new Set<Duplex>()
  #sentBytes = 0
  #receivedBytes = 0
  #isClosing = false

  constructor(options: TunnelServerOptions) {
    const { registry, clock, log, events, urlOf } = options
    this.#options = options
    this.#timings = { ...TIMINGS, ...options.timings }
    this.#standbys = new Standbys(clock)
    this.#links = new Links(registry, log, this.#standbys)
    this.#callers = new Buckets(clock, options.callRate ?? CALL_RATE)
    this.#registration = new Registration({
      registry,
      clock,
      log,
      events: events ?? {},
      links: this.#links,
      standbys: this.#standbys,
      timings: this.#timings,
      urlOf,
      newMeter: () => this.#newMeter(),
    })
    this.#peers = new Peers(options.peers, { clock, idleMs: this.#timings.idleMs })
    this.#routes = new Routes(registry, clock)
    this.http = this.#listen()
  }

  async call(prefix: string, { body, signal, ...request }: OwnRequest): Promise<OwnAnswer> {
    const authority = `${prefix}.${this.#options.domain}`
    const { exchange, answer, leave } = fromHere({ ...request, authority }, body)
    signal.throwIfAborted()
    signal.addEventListener('abort', leave, { once: true })
    const unanswered = this.#route(exchange, { prefix, isPeer: false })
      .finally(() => signal.removeEventListener('abort', leave))
      .then((outcome) => {
        this.#count(outcome)
        if (exchange.isAnswered) return answer
        signal.throwIfAborted()
        throw FAULTS[outcome]?.() ?? fault('tunnel-broken')
      })
    return Promise.race([answer, unanswered])
  }

  forgetRoutes(): void {
    this.#routes.clear()
  }

  recheck(runtimeId: string): Promise<void> {
    this.#standbys.wake(runtimeId)
    return this.#links.recheck(runtimeId)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    this.#standbys.close()
    const { clock } = this.#options
    for (const link of this.#links.all()) link.leave('shutdown', Math.floor(Math.random() * SPREAD_MS))
    const until = clock.monotonic() + CLOSE_MS
    while (this.#links.all().length > 0 && clock.monotonic() < until) await clock.sleep(20)
    await Promise.all(
      this.#links.all().map((link) => {
        link.close()
        return aborted(link.closed)
      }),
    )
    // A database that is away would hold the end of the process.
    await Promise.race([this.#links.settled(), clock.sleep(SETTLE_MS)])
    this.http.close()
    for (const socket of this.#sockets) socket.destroy()
    this.#peers.close()
  }

  setCertificate(certificate: Certificate): void {
    if (this.http instanceof https.Server) this.http.setSecureContext({ ...certificate, minVersion: 'TLSv1.2' })
  }

  metrics(): Metric[] {
    return metricsOf(this.#links.all(), {
      outcomes: this.#outcomes,
      registrations: this.#registration.results,
      toCallers: this.#receivedBytes,
      fromCallers: this.#sentBytes,
    })
  }

  #newMeter(): Meter {
    const { clock, bytesPerSecond } = this.#options
    const count: Meter = {
      sent: (bytes) => {
        this.#sentBytes += bytes
      },
      received: (bytes) => {
        this.#receivedBytes += bytes
      },
    }
    if (bytesPerSecond === undefined) return count
    return { ...count, pauseSent: slowdown(clock, bytesPerSecond), pauseReceived: slowdown(clock, bytesPerSecond) }
  }

  #listen(): http.Server {
    const { tls } = this.#options
    const server =
      tls === undefined ? http.createServer(CALL_SERVER) : https.createServer({ ...CALL_SERVER, ...tls, minVersion: 'TLSv1.2' })
    const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
      const known = this.#know(request)
      response.setHeader('x-request-id', known.requestId)
      void this.#answer(request, fromHttp1(request, response, known.head), known)
    }
    server.on('connection', (socket: Duplex) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    server.on('request', onRequest)
    server.on('checkContinue', onRequest)
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, early: Buffer) => {
      socket.on('error', () => socket.destroy())
      const known = this.#know(request)
      const exchange = fromUpgrade(request, { socket, early }, known.head)
      const isRegistration = !isBelow(request.headers.host, this.#options.domain) && pathOf(request) === TUNNEL_PATH
      if (isRegistration && !this.#isClosing) void this.#registration.register({ request, socket, early, exchange, ...known })
      else void this.#answer(request, exchange, known)
    })
    return server
  }

  /** Finds out who calls. */
  #know(request: IncomingMessage): Known {
    const requestId = requestIdOf(request)
    const caller = this.#options.callerOf(request)
    const isPeer = this.#peers.isPeer(request)
    return { requestId, isPeer, ...caller, head: isPeer ? headOfPeer(request) : headOf(request, { ...caller, requestId }) }
  }

  async #answer(request: IncomingMessage, exchange: Exchange, known: Known): Promise<void> {
    try {
      await this.#answerOrRefuse(request, exchange, known)
    } catch (error) {
      this.#options.log.error({ err: error, requestId: known.requestId }, 'a call was not answered')
      exchange.fail()
    }
  }

  async #answerOrRefuse(request: IncomingMessage, exchange: Exchange, known: Known): Promise<void> {
    const { domain, log } = this.#options
    const isForPages = isBelow(request.headers.host, domain)
    const refused = { headers: request.headers, requestId: known.requestId }
    try {
      const outcome = await this.#pass(request, exchange, known)
      this.#count(outcome)
      const why = exchange.isAnswered ? undefined : FAULTS[outcome]
      if (why !== undefined && outcome !== 'gone') refuse(exchange, why(), { ...refused, isForPages })
    } catch (error) {
      if (!isFault(error)) log.error({ err: error, requestId: known.requestId }, 'call failed')
      const shown = isFault(error) ? error : fault('internal', {}, error)
      this.#count(shown.code)
      // An unknown host says nothing to pages.
      refuse(exchange, shown, { ...refused, isForPages: isForPages && shown.status !== 404 })
    }
  }

  #count(outcome: Outcome | FaultCode): void {
    this.#outcomes.set(outcome, (this.#outcomes.get(outcome) ?? 0) + 1)
  }

  /** Sends a call to where its runtime is connected. Throws the fault with which it is refused. */
  async #pass(request: IncomingMessage, exchange: Exchange, known: Known): Promise<Outcome> {
    // An absolute target would name another host than the header.
    if (!exchange.path.startsWith('/')) throw fault('request-invalid', { message: 'The target of the request is not a path.' })
    const prefix = prefixOf(request.headers.host, this.#options.domain)
    if (prefix === undefined) return this.#passNowhere(request, exchange)
    // The server that got the call has counted it.
    if (known.isPeer) return this.#route(exchange, { prefix, isPeer: true })
    const caller = networkOf(known.address)
    const wait = this.#callers.take(caller)
    if (wait > 0) throw fault('rate-limited', { retryAfter: wait })
    const calls = this.#inProgress.get(caller) ?? 0
    const most = this.#options.callsAtOnce ?? CALLS_AT_ONCE
    if (calls >= most) throw fault('rate-limited', { message: `${most} calls of your address are already in progress.` })
    this.#inProgress.set(caller, calls + 1)
    try {
      return await this.#route(exchange, { prefix, isPeer: false })
    } finally {
      const left = (this.#inProgress.get(caller) ?? 1) - 1
      if (left > 0) this.#inProgress.set(caller, left)
      else this.#inProgress.delete(caller)
    }
  }

  async #route(exchange: Exchange, { prefix, isPeer }: { readonly prefix: string; readonly isPeer: boolean }): Promise<Outcome> {
    const find = (): Link | undefined => this.#links.at(prefix)
    const link = find() ?? (await this.#standbys.successor(prefix, find))
    if (link !== undefined) {
      if (link.isFull) throw fault('tunnel-full')
      return link.forward(exchange)
    }
    const route = await this.#routes.find(prefix)
    if (route === undefined) throw unknownHost(exchange.authority)
    // A call that another server has sent is not sent on, or it could go around.
    if (route.peer === undefined || isPeer) throw fault('tunnel-offline')
    return this.#passToPeer(exchange, route.peer)
  }

  /** Answers a call to a host that is not one of a runtime. */
  #passNowhere(request: IncomingMessage, exchange: Exchange): Outcome {
    if (pathOf(request) === '/healthz' && !isBelow(request.headers.host, this.#options.domain)) {
      exchange.respond({ status: 200, headers: { 'content-length': '3' }, mayHaveTrailers: false }).write('ok\n')
      exchange.end({})
      return 'answered'
    }
    if (pathOf(request) === TUNNEL_PATH && this.#isClosing)
      throw fault('unavailable', { message: 'The server stops.', hint: 'Connect again.', retryAfter: 1 })
    if (pathOf(request) === TUNNEL_PATH && !isBelow(request.headers.host, this.#options.domain))
      throw fault('protocol-unsupported', {
        message: 'The request arrived without its upgrade to a WebSocket.',
        hint: 'A proxy or load balancer on the way removes it: it must allow WebSockets.',
      })
    throw unknownHost(request.headers.host)
  }

  async #passToPeer(exchange: Exchange, peer: string): Promise<Outcome> {
    const outcome = await this.#peers.send(exchange, peer)
    if (outcome !== 'unreachable') return outcome
    // The other server has ended, and its clients connect elsewhere.
    this.forgetRoutes()
    return 'lost'
  }
}

/** Who calls, and the first part of the call as it goes on. */
export interface Known {
  readonly requestId: string
  readonly address: string
  readonly isSecure: boolean
  /** True for a call that another server sends on. */
  readonly isPeer: boolean
  readonly head: Parameters<typeof fromHttp1>[2]
}

function pathOf({ url = '' }: IncomingMessage): string {
  return url.split('?')[0] ?? ''
}
