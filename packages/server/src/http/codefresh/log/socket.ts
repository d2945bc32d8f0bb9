/**
 * The log socket of public clients (`/.ws`): a client proves its right to one build, then listens to the status and the steps of its log. Not here: the
 * frames (`frames.ts`), what is sent (`follow-log.ts`), who may read (`log-right.ts`).
 */
import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { fault, isFault, newId, refuseUpgrade } from '@windlass/kit'
import { WebSocketServer, type RawData, type WebSocket } from 'ws'
import type { App } from '../../../app.ts'
import { answerFrame, helloFrame, PONG, readFrame, valueFrame, type ClientFrame } from './frames.ts'
import { followStatus, followSteps, readLogNode, type Following } from './follow-log.ts'
import { LOG_PREFIX } from './log-host.ts'
import { readLogRight, type LogRight } from './log-right.ts'

const SOCKET_PATH = '/.ws'

/** Maximum size of a frame of a client. Bytes. */
const MAX_FRAME_BYTES = 16_384
/** Maximum number of frames of a client that have not been handled yet. */
const MAX_PENDING = 50
/** Maximum number of connections without a right, of all addresses and of one. */
const MAX_STRANGERS = 100
const MAX_STRANGERS_OF_ADDRESS = 10
/** Time in which a client must prove its right. Milliseconds. */
const STRANGER_MS = 10_000
/** Time that the final status waits for a client to ask for the steps. Milliseconds. */
const STEPS_GRACE_MS = 3_000

/** True for requests that open the log socket. All others are answered as usual, also if they ask for another protocol. */
export function isLogSocket({ url }: Pick<IncomingMessage, 'url'>): boolean {
  return url?.split('?')[0] === SOCKET_PATH
}

/** Serves the log socket until the server closes. `addressOf` returns the address of a client, which may be behind a proxy. */
export function serveLogSocket(app: App, server: Server, addressOf: (request: IncomingMessage) => string): void {
  const sockets = new WebSocketServer({
    noServer: true,
    maxPayload: MAX_FRAME_BYTES,
    perMessageDeflate: false,
    clientTracking: false,
  })
  /** Connections without a right, with their addresses. */
  const strangers = new Map<LogConnection, string>()
  const isFull = (address: string): boolean =>
    strangers.size >= MAX_STRANGERS ||
    strangers
      .values()
      .filter((one) => one === address)
      .toArray().length >= MAX_STRANGERS_OF_ADDRESS
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    const address = addressOf(request)
    if (app.closing.aborted || isFull(address)) return refuseUpgrade(socket, 503)
    sockets.handleUpgrade(request, socket, head, (client) => {
      const connection = new LogConnection(app, client, () => strangers.delete(connection))
      strangers.set(connection, address)
      connection.start(request.headers.host ?? '')
    })
  })
}

class LogConnection {
  private readonly app: App
  private readonly client: WebSocket
  private readonly onKnown: () => void
  private readonly gone = new AbortController()
  /** Aborted when the client disconnects or the server closes. */
  private readonly signal: AbortSignal
  /** What is sent per path, and how to end it. */
  private readonly listeners = new Map<string, AbortController>()
  private readonly stepsAsked = Promise.withResolvers<void>()
  private steps: Promise<void> | undefined
  private right: LogRight | undefined
  private reader: Disposable | undefined
  /** Frames are handled one after the other, because a right must be checked before what follows it. */
  private last: Promise<void> = Promise.resolve()
  private pending = 0

  constructor(app: App, client: WebSocket, onKnown: () => void) {
    this.app = app
    this.client = client
    this.onKnown = onKnown
    this.signal = AbortSignal.any([this.gone.signal, app.closing])
  }

  start(host: string): void {
    this.client.on('message', (data: RawData, isBinary: boolean) => this.receive(data, isBinary))
    this.client.on('error', () => this.client.terminate())
    this.client.once('close', () => this.end())
    this.signal.addEventListener('abort', () => this.client.terminate(), { once: true })
    void this.expire()
    void this.send(helloFrame(host, newId(this.app.clock.now()), this.app.clock.now())).catch(() => undefined)
  }

  private end(): void {
    this.gone.abort()
    this.onKnown()
    this.stepsAsked.resolve()
    this.reader?.[Symbol.dispose]()
    this.reader = undefined
  }

  /** Disconnects a client that does not prove its right, and others at the maximum age of a stream, so that they must prove it again. */
  private async expire(): Promise<void> {
    const { clock, readers } = this.app
    try {
      await clock.sleep(STRANGER_MS, this.signal)
      // A stranger that does not answer the end of the connection would keep its place.
      if (this.right === undefined) return this.client.terminate()
      await clock.sleep(readers.limits.lifeMs, this.signal)
    } catch {
      return
    }
    this.client.close()
  }

  private receive(data: RawData, isBinary: boolean): void {
    const frame = isBinary || !Buffer.isBuffer(data) ? undefined : readFrame(data.toString())
    if (frame?.kind === 'keep-alive') return
    this.pending += 1
    if (frame === undefined || this.pending > MAX_PENDING) return this.client.close(1008)
    this.last = this.last.then(async () => {
      try {
        if (!this.signal.aborted) await this.handle(frame)
      } catch (error) {
        this.fail(error)
      } finally {
        this.pending -= 1
      }
    })
  }

  private fail(error: unknown): void {
    if (!this.signal.aborted && !isFault(error, 'too-many-readers'))
      this.app.log.warn({ err: error, buildId: this.right?.buildId }, 'log socket closed')
    this.client.terminate()
  }

  private async handle(frame: ClientFrame): Promise<void> {
    if (frame.kind === 'ping') return this.send(PONG)
    if (frame.kind !== 'request') return undefined
    const { id, action, path, credential } = frame
    if (action === 'auth') return this.authenticate(id, credential)
    if (action === 'q') return this.listen(id, path)
    if (action === 'n') this.listeners.get(path)?.abort()
    return this.send(answerFrame(id, 'ok'))
  }

  private async authenticate(id: number, credential: string): Promise<void> {
    const right = await readLogRight(this.app, credential)
    if (right === undefined) return this.send(answerFrame(id, 'invalid_token', 'The token is not valid or has expired.'))
    this.reader ??= this.app.readers.take(right.actor)
    this.right = right
    this.onKnown()
    const data = { auth: { uid: right.buildId }, expires: Math.floor(right.expiresAt / 1000) }
    return this.send(answerFrame(id, 'ok', data))
  }

  private async listen(id: number, path: string): Promise<void> {
    const buildId = this.right?.buildId
    const root = `${LOG_PREFIX}/${buildId}`
    if (buildId === undefined || ![root, `${root}/status`, `${root}/steps`].includes(path))
      return this.send(answerFrame(id, 'permission_denied', 'Permission denied'))
    this.listeners.get(path)?.abort()
    const ended = new AbortController()
    this.listeners.set(path, ended)
    const following = {
      buildId,
      path,
      signal: AbortSignal.any([this.signal, ended.signal]),
      send: (frame: string) => this.send(frame),
    }
    const sent = (): Promise<void> => this.send(answerFrame(id, 'ok'))
    if (path === root) return this.sendNode(following, sent)
    // Runs until the build ends, while further frames are handled.
    const running = path === `${root}/steps` ? this.followSteps(following, sent) : this.followStatus(following, sent)
    void running.catch((error: unknown) => this.fail(error))
    return undefined
  }

  private async sendNode(following: Following, sent: () => Promise<void>): Promise<void> {
    const node = await readLogNode(this.app, following)
    await this.send(valueFrame(following.path, node ?? null))
    await sent()
  }

  private followSteps(following: Following, sent: () => Promise<void>): Promise<void> {
    // A client that connects again has the earlier lines already.
    const mark = this.steps === undefined
    this.steps = followSteps(this.app, following, { sent, mark })
    this.stepsAsked.resolve()
    return this.steps
  }

  private followStatus(following: Following, sent: () => Promise<void>): Promise<void> {
    const steps = async (): Promise<void> => {
      const grace = this.app.clock.sleep(STEPS_GRACE_MS, following.signal).catch(() => undefined)
      await Promise.race([this.stepsAsked.promise, grace])
      await this.steps
    }
    return followStatus(this.app, following, { sent, steps })
  }

  /** Sends a frame. Resolves when the client can accept more. Throws `unavailable` if it accepts nothing for `stallMs`. */
  private async send(frame: string): Promise<void> {
    if (this.signal.aborted) return
    const written = Promise.withResolvers<boolean>()
    // A frame that cannot be written was for a client that disconnects.
    this.client.send(frame, () => written.resolve(false))
    const over = new AbortController()
    const { clock, readers } = this.app
    const stalled = clock.sleep(readers.limits.stallMs, over.signal).then(
      () => true,
      () => false,
    )
    const isStalled = await Promise.race([written.promise, stalled])
    over.abort()
    if (isStalled) throw fault('unavailable', { message: `The reader accepted no data for ${readers.limits.stallMs} ms.` })
  }
}
