/** The server of `[session_server]`: GitLab opens terminals of jobs here, over a WebSocket with TLS. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { createServer, type Server } from 'node:https'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { fault, refuseUpgrade, type Clock, type Logger } from '@windlass/kit'
import { selfSignedServer } from '@windlass/manifests'
import { WebSocketServer, type WebSocket } from 'ws'
import type { SessionSettings } from '../config/session-server.ts'
import { Session } from './session.ts'
import { chooseSubprotocol, type Subprotocol } from './subprotocol.ts'

export interface SessionServerOptions {
  readonly settings: SessionSettings
  readonly clock: Clock
  readonly log: Logger
}

export interface SessionServer {
  /** Makes the session for a request for a job. The caller must end it. `timeoutS`: see `SessionSettings`. */
  open(timeoutS: number): Session
  /** Number of open terminals. */
  terminals(): number
  /** Lets jobs end although terminals are open, and opens no other ones. */
  release(): Promise<void>
  /** Closes all terminals, and stops to listen. */
  close(): Promise<void>
}

/** Life of the certificate, which each process makes for itself. Milliseconds. */
const CERTIFICATE_MS = 10 * 365 * 86_400_000
/** Time to show a certificate, and to send the head of a request. Milliseconds. */
const HEAD_MS = 10_000
const MAX_CONNECTIONS = 1_000
/** Longest message of a user: what is pasted at once, in Base64. Bytes. */
const MAX_MESSAGE = 256 * 1024
/** Time for the ends of shells and connections when the server closes. Milliseconds. */
const CLOSE_MS = 3_000

/** Starts the server. Throws `config-invalid` if it cannot listen. */
export async function openSessionServer(options: SessionServerOptions): Promise<SessionServer> {
  const { host, port, advertised, name } = options.settings
  const { cert, key } = selfSignedServer({
    subject: 'windlass gitlab terminals',
    names: [name],
    now: options.clock.now(),
    validMs: CERTIFICATE_MS,
  })
  const server = createServer({ cert, key, minVersion: 'TLSv1.2', handshakeTimeout: HEAD_MS, requestTimeout: HEAD_MS })
  server.headersTimeout = HEAD_MS
  server.maxConnections = MAX_CONNECTIONS
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', (error) =>
    reject(
      fault(
        'config-invalid',
        {
          message: `The manager cannot listen on port ${port} for terminals: ${error.message}.`,
          hint: 'Change listen_address of [session_server].',
        },
        error,
      ),
    ),
  )
  if (host === undefined) server.listen(port, resolve)
  else server.listen(port, host, resolve)
  await promise
  options.log.info({ port, advertised }, 'serves terminals of jobs')
  return new Sessions({ ...options, server, certificate: cert })
}

class Sessions implements SessionServer {
  readonly #options: SessionServerOptions & { readonly server: Server; readonly certificate: string }
  readonly #stop = new AbortController()
  readonly #sessions = new Map<string, Session>()
  readonly #sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_MESSAGE,
    perMessageDeflate: false,
    handleProtocols: (_, { headers }) => chooseSubprotocol(headers['sec-websocket-protocol']) ?? false,
  })
  /** Connections to the port, also those that have sent no request, and those of upgrades. */
  readonly #connections = new Set<Socket>()
  /** Terminals in progress. These promises never reject. */
  readonly #serving = new Set<Promise<void>>()

  constructor(options: SessionServerOptions & { readonly server: Server; readonly certificate: string }) {
    this.#options = options
    const { server, log } = options
    server.on('error', (error) => log.warn({ err: error }, 'the server of terminals has a problem'))
    server.on('connection', (socket: Socket) => {
      this.#connections.add(socket)
      socket.once('close', () => this.#connections.delete(socket))
    })
    server.on('request', (request, response) => this.#answer(request, response))
    server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => this.#upgrade(request, socket, head))
  }

  open(timeoutS: number): Session {
    const { certificate, settings, clock, log } = this.#options
    const session = new Session({
      base: `https://${settings.advertised}`,
      certificate,
      timeoutS,
      clock,
      log,
      signal: this.#stop.signal,
      onEnd: ({ id }) => this.#sessions.delete(id),
    })
    this.#sessions.set(session.id, session)
    return session
  }

  terminals(): number {
    return [...this.#sessions.values()].filter(({ isOpen }) => isOpen).length
  }

  async release(): Promise<void> {
    await Promise.all([...this.#sessions.values()].map((session) => session.release()))
  }

  async close(): Promise<void> {
    const { server, clock } = this.#options
    this.#stop.abort(new DOMException('the manager stops', 'AbortError'))
    const closed = new Promise<void>((resolve) => server.close(() => resolve()))
    const done = new AbortController()
    const over = Promise.all([...this.#serving, this.#ended()])
    await Promise.race([over, clock.sleep(CLOSE_MS, done.signal).catch(() => undefined)])
    done.abort()
    for (const socket of this.#sockets.clients) socket.terminate()
    // Node knows neither connections that are still in their TLS handshake nor those of upgrades, but waits for them.
    for (const socket of this.#connections) socket.destroy()
    await closed
  }

  /** Resolves when all clients have closed their connections. */
  async #ended(): Promise<void> {
    await Promise.all([...this.#sockets.clients].map((socket) => new Promise((resolve) => socket.once('close', resolve))))
  }

  /** Returns the session of a request, or the status with which it is refused. */
  #find({ url = '', headers }: IncomingMessage): Session | 401 | 404 {
    const id = /^\/session\/([0-9a-f]{32})\/exec(?:\?.*)?$/.exec(url)?.[1]
    const session = id === undefined ? undefined : this.#sessions.get(id)
    if (session === undefined) return 404
    return session.accepts(headers.authorization) ? session : 401
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const found = this.#find(request)
    const status = typeof found === 'number' ? found : 426
    response.writeHead(status, { connection: 'close', ...(status === 426 && { upgrade: 'websocket' }) }).end()
  }

  #upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    socket.on('error', () => socket.destroy())
    const found = this.#find(request)
    if (typeof found === 'number') return refuseUpgrade(socket, found)
    const refusal = this.#stop.signal.aborted ? 503 : found.refusal()
    if (refusal !== undefined) return refuseUpgrade(socket, refusal)
    const subprotocol = chooseSubprotocol(request.headers['sec-websocket-protocol'])
    if (subprotocol === undefined) return refuseUpgrade(socket, 400)
    this.#sockets.handleUpgrade(request, socket, head, (client) => this.#serve(found, client, subprotocol))
  }

  /** The upgrade calls back at once, so no other connection of the session can come between. */
  #serve(session: Session, client: WebSocket, subprotocol: Subprotocol): void {
    const served: Promise<void> = session
      .serve(client, subprotocol)
      .catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'a terminal ended with an error')
        client.terminate()
      })
      .finally(() => this.#serving.delete(served))
    this.#serving.add(served)
  }
}
