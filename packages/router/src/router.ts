/**
 * The service in a GitOps runtime that gets all its calls, from the tunnel client or from an ingress controller, and passes each to its service. Not here: which service
 * gets which path (`routes.ts`), and what crosses on the way (the package `tunnel`, `exchange/`).
 */
import { once } from 'node:events'
import http, { type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Duplex } from 'node:stream'
import { fault, isFault, type Clock, type FaultCode, type Logger, type Metric } from '@windlass/kit'
import {
  CALL_SERVER,
  fromHttp1,
  fromUpgrade,
  permit,
  refuse,
  type CallHead,
  type Exchange,
  type Outcome,
} from '@windlass/tunnel/exchange'
import { withGzip } from './gzip.ts'
import { headFor } from './head.ts'
import { metricsOf } from './metrics.ts'
import { Names } from './names.ts'
import { routeOf, type Route, type Service } from './routes.ts'
import { faultOf, notFound, Services, type ServiceAddress, type ServiceRoute } from './services.ts'

/** Time that a service has to end an idle call before the connection of its caller is closed. Milliseconds. */
const CALLER_MARGIN_MS = 30_000
/** Time after a stop in which new connections are still accepted: Kubernetes leads some to a pod that it has already told to stop. Milliseconds. */
const LINGER_MS = 3_000

export interface RouterOptions {
  /** Address to listen on. Default: all. */
  readonly host?: string | undefined
  /** 0 selects a free port. */
  readonly port: number
  readonly appProxy: ServiceAddress
  /** Undefined: `/workflows/` leads nowhere. */
  readonly workflows?: ServiceAddress | undefined
  readonly eventSources: {
    /** Undefined: all namespaces. */
    readonly namespaces?: readonly string[] | undefined
    /** Returns true for an address that webhooks may be sent to. */
    readonly isAllowed: (address: string) => boolean
    readonly clusterDomain: string
    readonly port: number
    /** Empty: the name servers of the machine. */
    readonly nameServers: readonly string[]
  }
  /** Returns true for the address of a sender whose `X-Forwarded-*` are believed. */
  readonly isTrusted: (address: string) => boolean
  /** Maximum number of calls in progress. */
  readonly calls: number
  /** Maximum time without any bytes. Milliseconds. */
  readonly idleMs: number
  /** The same for the connection of a caller, which may be slow to read. Milliseconds. Default: 30 s more. */
  readonly callerIdleMs?: number | undefined
  /** Maximum time for calls in progress when the router stops. Milliseconds. */
  readonly drainMs: number
  /** Default: 3 s, at most `drainMs`. */
  readonly lingerMs?: number | undefined
  readonly clock: Clock
  readonly log: Logger
}

export interface Router {
  readonly port: number
  readonly isStopping: boolean
  metrics(): Metric[]
  /** Is not ready any more, ends the calls in progress, and closes all connections. */
  close(): Promise<void>
}

/** Listens until closed. Rejects if the port is in use. */
export async function startRouter(options: RouterOptions): Promise<Router> {
  const router = new Server(options)
  await router.listen()
  return router
}

/** What is known of a call before it is passed on. */
interface Call {
  readonly route: Route | undefined
  readonly head: CallHead
  readonly headers: IncomingHttpHeaders
  readonly requestId: string
}

/** What a call is answered on. */
interface Ending {
  once(event: 'close', then: () => void): unknown
}

class Server implements Router {
  readonly #options: RouterOptions
  readonly #http = http.createServer(CALL_SERVER)
  readonly #names: Names
  readonly #services: Services
  readonly #sockets = new Set<Duplex>()
  readonly #outcomes = new Map<`${Service | 'none'} ${Outcome | FaultCode}`, number>()
  /** Services that did not accept the last connection. */
  readonly #down = new Set<Service>()
  #calls = 0
  #sentBytes = 0
  #receivedBytes = 0
  #isStopping = false
  #closed: Promise<void> | undefined

  constructor(options: RouterOptions) {
    const { appProxy, workflows, eventSources, idleMs, callerIdleMs, clock, log } = options
    const { isAllowed, nameServers } = eventSources
    this.#options = options
    this.#names = new Names({ servers: nameServers, isAllowed, clock, log })
    this.#services = new Services({
      appProxy,
      workflows,
      eventSources: { ...eventSources, names: this.#names },
      idleMs,
      meter: {
        sent: (bytes) => {
          this.#sentBytes += bytes
        },
        received: (bytes) => {
          this.#receivedBytes += bytes
        },
      },
    })
    const server = this.#http
    server.setTimeout(callerIdleMs ?? idleMs + CALLER_MARGIN_MS)
    server.on('connection', (socket: Duplex) => {
      this.#sockets.add(socket)
      socket.once('close', () => this.#sockets.delete(socket))
    })
    server.on('request', (request, response) => this.#onRequest(request, response))
    server.on('checkContinue', (request, response) => this.#onRequest(request, response))
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, early: Buffer) => {
      socket.on('error', () => socket.destroy())
      const call = this.#know(request)
      void this.#answer(call, fromUpgrade(request, { socket, early }, call.head), socket)
    })
  }

  get port(): number {
    const address = this.#http.address()
    return typeof address === 'object' && address !== null ? address.port : this.#options.port
  }

  get isStopping(): boolean {
    return this.#isStopping
  }

  async listen(): Promise<void> {
    const { host, port, log } = this.#options
    this.#http.listen({ host, port })
    await once(this.#http, 'listening')
    log.info({ port: this.port }, 'the router listens')
  }

  metrics(): Metric[] {
    return metricsOf({
      calls: this.#calls,
      outcomes: this.#outcomes,
      lookups: this.#names.results,
      toCallers: this.#receivedBytes,
      fromCallers: this.#sentBytes,
    })
  }

  close(): Promise<void> {
    return (this.#closed ??= this.#close())
  }

  async #close(): Promise<void> {
    this.#isStopping = true
    const { clock, drainMs, lingerMs = LINGER_MS, log } = this.#options
    const until = clock.monotonic() + drainMs
    const waitMs = Math.min(lingerMs, drainMs)
    if (waitMs > 0) await clock.sleep(waitMs)
    const closed = once(this.#http, 'close')
    this.#http.close()
    while (this.#calls > 0 && clock.monotonic() < until) await clock.sleep(20)
    if (this.#calls > 0) log.warn({ calls: this.#calls }, 'the router stops before its calls have ended')
    for (const socket of this.#sockets) socket.destroy()
    this.#services.close()
    this.#names.close()
    await closed
  }

  #onRequest(request: IncomingMessage, response: ServerResponse): void {
    // A caller that keeps its connection would send the next call to a router that is gone.
    if (this.#isStopping) response.shouldKeepAlive = false
    const call = this.#know(request)
    void this.#answer(call, fromHttp1(request, response, call.head), response)
  }

  /** Finds out where a call goes, and what it is there. */
  #know(request: IncomingMessage): Call {
    const { workflows, eventSources, isTrusted } = this.#options
    const { namespaces } = eventSources
    const found = routeOf(request.url ?? '', { hasWorkflows: workflows !== undefined, namespaces })
    // Event sources get webhooks only.
    const route = found?.to === 'event-source' && request.headers.upgrade !== undefined ? undefined : found
    const { head, requestId } = headFor(request, isTrusted)
    const path = route !== undefined && 'path' in route ? route.path : head.path
    return { route, head: { ...head, path }, headers: request.headers, requestId }
  }

  async #answer(call: Call, exchange: Exchange, ending: Ending): Promise<void> {
    try {
      await this.#answerOrRefuse(call, exchange, ending)
    } catch (error) {
      this.#options.log.error({ err: error, requestId: call.requestId }, 'a call was not answered')
      exchange.fail()
    }
  }

  async #answerOrRefuse(call: Call, exchange: Exchange, ending: Ending): Promise<void> {
    const { log } = this.#options
    const { route, headers, requestId } = call
    // Pages call the runtime directly, and could not read an answer without permissions.
    const refused = { headers, requestId, isForPages: route?.to === 'app-proxy' || route?.to === 'workflows' }
    const service = route !== undefined && isOfService(route) ? route.to : 'none'
    try {
      const outcome = await this.#pass(call, exchange, ending)
      this.#count(service, outcome)
      if (service === 'none' || exchange.isAnswered) return
      const why = faultOf(outcome, service)
      if (why === undefined) return
      // A page that asks whether it may call gets a yes, and then the reason why it cannot.
      if (refused.isForPages && exchange.method === 'OPTIONS') permit(exchange, refused)
      else refuse(exchange, why, refused)
    } catch (error) {
      if (!isFault(error)) log.error({ err: error, requestId }, 'a call failed')
      const shown = isFault(error) ? error : fault('internal', {}, error)
      this.#count(service, shown.code)
      refuse(exchange, shown, refused)
    }
  }

  /** Passes a call to its service. Throws the fault with which it is refused. */
  async #pass({ route }: Call, exchange: Exchange, ending: Ending): Promise<Outcome> {
    if (route === undefined) throw notFound()
    if (!isOfService(route)) return this.#answerItself(route, exchange)
    if (this.#calls >= this.#options.calls) throw fault('router-full')
    this.#calls += 1
    // A call takes its place until its caller has all of the answer.
    ending.once('close', () => {
      this.#calls -= 1
    })
    const outcome = await this.#services.call(withGzip(exchange), route)
    this.#note(route.to, outcome)
    return outcome
  }

  #answerItself(route: Exclude<Route, ServiceRoute>, exchange: Exchange): Outcome {
    if (route.to === 'redirect') {
      exchange.respond({ status: 308, headers: { location: route.location, 'content-length': '0' }, mayHaveTrailers: false })
    } else {
      const isReady = route.to === 'healthz' || !this.#isStopping
      const body = isReady ? 'ok' : 'the router stops'
      const headers = { 'content-type': 'text/plain', 'content-length': String(body.length) }
      exchange.respond({ status: isReady ? 200 : 503, headers, mayHaveTrailers: false }).write(body)
    }
    exchange.end({})
    return 'answered'
  }

  /** Logs when a service goes away and when it comes back. Event sources are too many to tell. */
  #note(service: Service, outcome: Outcome): void {
    const { log } = this.#options
    if (service === 'event-source') return
    if (outcome === 'unreachable' && !this.#down.has(service)) {
      this.#down.add(service)
      log.warn({ service }, 'a service cannot be reached')
    } else if (outcome === 'answered' && this.#down.delete(service)) log.info({ service }, 'a service can be reached again')
  }

  #count(service: Service | 'none', outcome: Outcome | FaultCode): void {
    const key = `${service} ${outcome}` as const
    this.#outcomes.set(key, (this.#outcomes.get(key) ?? 0) + 1)
  }
}

function isOfService(route: Route): route is ServiceRoute {
  return route.to === 'app-proxy' || route.to === 'workflows' || route.to === 'event-source'
}
