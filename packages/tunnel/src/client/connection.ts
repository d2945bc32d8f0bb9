/** One connection to the server of the tunnel: the HTTP/2 server inside it, heartbeats, and its end. */
import http2, { type IncomingHttpHeaders, type ServerHttp2Session, type ServerHttp2Stream } from 'node:http2'
import { fault, type Clock, type Logger } from '@windlass/kit'
import type { WebSocket } from 'ws'
import type { Exchange } from '../exchange/exchange.ts'
import { fromHttp2 } from '../exchange/from-http2.ts'
import { CONNECTION_WINDOW, RESETS, SESSION_OPTIONS } from '../link/http2-settings.ts'
import { openSocketStream } from '../link/socket-stream.ts'
import { readServerMessage, type Goaway, type Welcome } from '../protocol.ts'
import { dial, type DialOptions } from './dial.ts'

/** Time in which the server must welcome the client. Milliseconds. */
const WELCOME_MS = 10_000

export interface ConnectionOptions extends DialOptions {
  readonly clock: Clock
  readonly log: Logger
  /** Carries out a call of the server. */
  readonly serve: (exchange: Exchange) => Promise<void>
}

export interface Connection {
  readonly welcome: Welcome
  /** Resolves when the server asks the client to connect again. This connection ends its calls meanwhile. */
  readonly goaway: Promise<Goaway>
  /** Resolves when the connection is closed. */
  readonly closed: Promise<void>
  /** Calls in progress. */
  streams(): number
  /** Asks the server for no more calls, waits for those in progress, at most `ms`, and closes. */
  drain(ms: number): Promise<void>
  close(): void
}

/** Connects. Throws the faults of `dial`, and `server-unreachable` if no welcome follows. */
export async function connect(options: ConnectionOptions): Promise<Connection> {
  let opened: Opened | undefined
  await dial(options, (socket) => {
    opened = open(socket, options)
  })
  if (opened === undefined) throw new Error('the WebSocket did not open')
  const { connection, welcomed } = opened
  const over = new AbortController()
  const { clock, signal } = options
  const late = clock.sleep(WELCOME_MS, AbortSignal.any([signal, over.signal])).catch(() => undefined)
  const welcome = await Promise.race([welcomed, late])
  over.abort()
  if (welcome !== undefined) return { ...connection, welcome }
  connection.close()
  signal.throwIfAborted()
  throw fault('server-unreachable', {
    message: 'The server of the tunnel accepted the connection, and then did not welcome the client.',
    hint: 'Check the log of the server, and every proxy and load balancer on the way.',
  })
}

interface Opened {
  readonly connection: Omit<Connection, 'welcome'>
  /** Undefined if the connection closed before. */
  readonly welcomed: Promise<Welcome | undefined>
}

function open(socket: WebSocket, { clock, log, serve }: ConnectionOptions): Opened {
  const welcomed = Promise.withResolvers<Welcome | undefined>()
  const goaway = Promise.withResolvers<Goaway>()
  const closed = Promise.withResolvers<void>()
  const heart = openHeart(socket, clock)
  const stream = openSocketStream(socket, (text) => {
    const message = readServerMessage(text)
    if (message?.type === 'welcome') {
      heart.start(message.deadMs)
      welcomed.resolve(message)
    } else if (message?.type === 'goaway') goaway.resolve(message)
  })
  const session: ServerHttp2Session = http2.performServerHandshake(stream, { ...SESSION_OPTIONS, ...RESETS })
  session.setLocalWindowSize(CONNECTION_WINDOW)
  let streams = 0
  session.on('stream', (call: ServerHttp2Stream, headers: IncomingHttpHeaders, flags: number) => {
    streams += 1
    call.once('close', () => {
      streams -= 1
    })
    serve(fromHttp2(call, headers, flags)).catch((error: unknown) => {
      log.error({ err: error }, 'call failed')
      call.close(http2.constants.NGHTTP2_INTERNAL_ERROR)
    })
  })
  // The end of the WebSocket says the same.
  session.on('error', () => undefined)
  stream.on('error', () => undefined)
  socket.once('close', () => {
    heart.stop()
    session.destroy()
    welcomed.resolve(undefined)
    closed.resolve()
  })
  const close = (): void => void stream.destroy()
  return {
    welcomed: welcomed.promise,
    connection: {
      goaway: goaway.promise,
      closed: closed.promise,
      streams: () => streams,
      async drain(ms) {
        // The server closes the connection when its last call has ended. It may have sent calls before it reads this.
        if (socket.readyState === socket.OPEN) socket.send(JSON.stringify({ type: 'goaway' }))
        const over = new AbortController()
        await Promise.race([closed.promise, clock.sleep(ms, over.signal).catch(() => undefined)])
        over.abort()
        close()
        await closed.promise
      },
      close,
    },
  }
}

interface Heart {
  start(deadMs: number): void
  stop(): void
}

/** Closes the WebSocket if nothing arrives for too long. The server pings. */
function openHeart(socket: WebSocket, clock: Clock): Heart {
  let heardAt = clock.monotonic()
  let timer: NodeJS.Timeout | undefined
  const hear = (): void => {
    heardAt = clock.monotonic()
  }
  socket.on('ping', hear)
  socket.on('message', hear)
  return {
    start(deadMs) {
      hear()
      clearInterval(timer)
      timer = setInterval(() => {
        if (clock.monotonic() - heardAt >= deadMs) socket.terminate()
      }, deadMs / 10)
    },
    stop: () => clearInterval(timer),
  }
}
