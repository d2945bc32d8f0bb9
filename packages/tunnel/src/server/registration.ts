/** How a client gets its connection: it is authenticated and gets its place before the WebSocket opens, so that a refusal is an HTTP answer. */
import type { IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import { defined, fault, isFault, newId, type Clock, type Fault, type FaultCode, type Logger } from '@windlass/kit'
import { WebSocketServer, type WebSocket } from 'ws'
import type { Exchange, Meter } from '../exchange/exchange.ts'
import { refuse } from '../exchange/refuse.ts'
import { HELLO, MAX_MESSAGE, RUNTIME_NAME, SUBPROTOCOL, type Checked } from '../protocol.ts'
import { Buckets } from './buckets.ts'
import { Link, type LinkTimings } from './link.ts'
import type { Links } from './links.ts'
import { networkOf } from './network-of.ts'
import type { Hello, Session, TunnelRegistry } from './registry.ts'
import type { Candidate, Standbys } from './standbys.ts'

/** Registrations of one address, which may be that of many clusters behind one gateway. */
const REGISTER_RATE = { perSecond: 5, burst: 300 }
/** Registrations that wait for the registry. */
const MAX_PENDING = 200
/** Time for a client that only checks. Milliseconds. */
const CHECK_MS = 10_000

/** `checked`: the client only asked. */
export type RegistrationResult = 'connected' | 'checked' | FaultCode

/** What is recorded of registrations. Errors of the functions are logged and have no other effect. */
export interface RegistrationEvents {
  readonly onConnected?: (session: Session) => Promise<void>
  readonly onRefused?: (hello: Hello, why: Fault) => Promise<void>
  readonly onEnded?: (session: Session) => Promise<void>
}

export interface RegistrationOptions {
  readonly registry: TunnelRegistry
  readonly clock: Clock
  readonly log: Logger
  readonly events: RegistrationEvents
  readonly links: Links
  readonly standbys: Standbys
  readonly timings: LinkTimings
  readonly urlOf: (prefix: string) => string
  readonly newMeter: () => Meter
}

export interface Registering {
  readonly request: IncomingMessage
  readonly socket: Duplex
  readonly early: Buffer
  readonly exchange: Exchange
  readonly requestId: string
  readonly address: string
}

export class Registration {
  /** Number of registrations by result. */
  readonly results = new Map<RegistrationResult, number>()
  readonly #options: RegistrationOptions
  readonly #callers: Buckets
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE,
    perMessageDeflate: false,
    clientTracking: false,
    handleProtocols: () => SUBPROTOCOL,
  })
  #pending = 0

  constructor(options: RegistrationOptions) {
    this.#options = options
    this.#callers = new Buckets(options.clock, REGISTER_RATE)
  }

  /** Answers the request of a client. */
  async register(registering: Registering): Promise<void> {
    const { request, requestId, address } = registering
    const { log } = this.#options
    let hello: Hello | undefined
    this.#pending += 1
    try {
      this.#requireRoom(address)
      hello = readHello(request, address)
      const isCheck = request.headers[HELLO.check] !== undefined
      await (isCheck ? this.#check(hello, registering) : this.#accept(hello, registering))
      this.#count(isCheck ? 'checked' : 'connected')
    } catch (error) {
      const why = isFault(error) ? error : fault('internal', {}, error)
      if (!isFault(error)) log.error({ err: error, requestId }, 'registration of a tunnel failed')
      this.#count(why.code)
      this.#refuse(registering, why)
      const refusedHello = hello
      if (refusedHello !== undefined) await this.#note('refusal', () => this.#options.events.onRefused?.(refusedHello, why))
    } finally {
      this.#pending -= 1
    }
  }

  /** Answers with the fault, or closes the connection if another answer is still on it. */
  #refuse({ request: { headers }, exchange, requestId }: Registering, why: Fault): void {
    try {
      refuse(exchange, why, { headers, requestId, isForPages: false })
    } catch {
      exchange.fail()
    }
  }

  #requireRoom(address: string): void {
    const wait = this.#callers.take(networkOf(address))
    if (wait > 0) throw fault('rate-limited', { retryAfter: wait })
    if (this.#pending > MAX_PENDING) throw fault('unavailable', { message: 'Too many clients register at the same time.' })
  }

  async #accept(hello: Hello, { request, socket, early }: Registering): Promise<void> {
    const { registry, clock } = this.#options
    const { clientId, clientVersion, address } = hello
    const session: Session = {
      ...(await registry.authenticate(hello)),
      id: newId(clock.now()),
      clientId,
      clientVersion,
      address,
    }
    const claim = (): Promise<void> => registry.claim(session)
    if (hello.isStandby) await this.#waitFor({ session, claim, isGone: () => socket.destroyed })
    else await claim()
    let isOpen = false
    // Calls back at once, or never if the client has left.
    this.#sockets.handleUpgrade(request, socket, early, (client) => {
      isOpen = true
      this.#open(client, session)
    })
    if (!isOpen) await registry.release(session)
  }

  /** A client that waits does not take the room of others. */
  async #waitFor(candidate: Candidate): Promise<void> {
    this.#pending -= 1
    try {
      await this.#options.standbys.claim(candidate)
    } finally {
      this.#pending += 1
    }
  }

  /** Says whether the client could connect. It gets no place, and closes when it has read the answer. */
  async #check(hello: Hello, { request, socket, early }: Registering): Promise<void> {
    const { registry, clock, urlOf } = this.#options
    const accepted = await registry.authenticate(hello)
    const client = await registry.connected(accepted)
    const checked: Checked = { type: 'checked', url: urlOf(accepted.prefix), ...defined({ client }) }
    this.#sockets.handleUpgrade(request, socket, early, (asking) => {
      const closed = new AbortController()
      asking.on('error', () => undefined)
      asking.once('close', () => closed.abort())
      asking.send(JSON.stringify(checked))
      void clock.sleep(CHECK_MS, closed.signal).then(
        () => asking.terminate(),
        () => undefined,
      )
    })
  }

  #open(socket: WebSocket, session: Session): void {
    const { links, timings, clock, log, urlOf, newMeter, events } = this.#options
    const link = new Link({
      socket,
      session,
      url: urlOf(session.prefix),
      timings,
      clock,
      meter: newMeter(),
      onAlive: (alive) => void links.beat(alive),
      onStopping: (stopping) => links.stop(stopping),
    })
    const { runtime, id, clientVersion, address } = session
    log.info({ runtime, session: id, clientVersion, address }, 'tunnel connected')
    links.add(link, () => {
      log.info({ runtime, session: id }, 'tunnel closed')
      void this.#note('end', () => events.onEnded?.(session))
    })
    void this.#note('connection', () => events.onConnected?.(session))
  }

  async #note(what: string, work: () => Promise<void> | undefined): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#options.log.warn({ err: error }, `the ${what} of a tunnel was not recorded`)
    }
  }

  #count(result: RegistrationResult): void {
    this.results.set(result, (this.results.get(result) ?? 0) + 1)
  }
}

/** Reads how a client names itself. Throws `request-invalid`, `protocol-unsupported` and `unauthenticated`. */
function readHello({ headers }: IncomingMessage, address: string): Hello {
  const protocols = (headers['sec-websocket-protocol'] ?? '').split(',').map((name) => name.trim())
  if (!protocols.includes(SUBPROTOCOL))
    throw fault('protocol-unsupported', {
      message: `The tunnel needs a WebSocket with the subprotocol ${SUBPROTOCOL}.`,
      hint: 'Use a client of the version of the server.',
    })
  const token = /^Bearer +(\S+)$/i.exec(headers.authorization ?? '')?.[1]
  if (token === undefined)
    throw fault('unauthenticated', { hint: 'Give the client a token of `windlass gitops token create RUNTIME`.' })
  const runtime = textOf(headers[HELLO.runtime])
  const clientId = textOf(headers[HELLO.client])
  const clientVersion = textOf(headers[HELLO.version])
  const isValid = RUNTIME_NAME.test(runtime) && /^[\w-]{8,64}$/.test(clientId) && /^[\w.+-]{1,50}$/.test(clientVersion)
  if (!isValid) throw fault('request-invalid', { message: 'The client does not name its runtime, itself and its version.' })
  return { token, runtime, clientId, clientVersion, address, isStandby: headers[HELLO.standby] !== undefined }
}

function textOf(header: string | string[] | undefined): string {
  return typeof header === 'string' ? header : ''
}
