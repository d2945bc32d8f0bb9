/** Calls that come in by HTTP/1.1. */
import { ServerResponse, STATUS_CODES, type IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import type { CallHead, Exchange } from './exchange.ts'
import { crossingTrailers, forHttp1 } from './headers.ts'

/** Returns a call that does not switch protocols. `head` is its first part with the headers that the server changed. */
export function fromHttp1(request: IncomingMessage, response: ServerResponse, head: CallHead): Exchange {
  const { headers } = request
  const hasBody = headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
  return {
    ...head,
    upgrade: undefined,
    body: hasBody ? request : undefined,
    trailers: () => crossingTrailers(request.trailers),
    continue: () => response.writeContinue(),
    ...answering(response),
    get isAnswered() {
      return response.headersSent
    },
    accept: () => {
      throw new Error('the caller asked for no other protocol')
    },
  }
}

/** Returns a call that asks for another protocol. `early` is what the caller has sent after the headers. */
export function fromUpgrade(request: IncomingMessage, { socket, early }: Upgrade, head: CallHead): Exchange {
  const upgrade = request.headers.upgrade ?? ''
  let isAccepted = false
  let response: ServerResponse | undefined
  // Until the answer is known, the socket belongs to no response: a WebSocket server may take it.
  const answer = (): Answering => answering((response ??= responseOn(request, socket)))
  return {
    ...head,
    upgrade,
    body: undefined,
    trailers: () => ({}),
    continue: () => undefined,
    respond: (first) => answer().respond(first),
    end: (trailers) => answer().end(trailers),
    fail: () => void socket.destroy(),
    accept(headers) {
      isAccepted = true
      const lines = Object.entries(headers).flatMap(([name, value]) => [value].flat().map((text) => `${name}: ${text}`))
      const start = [`HTTP/1.1 101 ${STATUS_CODES[101]}`, 'connection: Upgrade', `upgrade: ${upgrade}`]
      socket.write(`${[...start, ...lines].join('\r\n')}\r\n\r\n`, 'latin1')
      if (early.length > 0) socket.unshift(early)
      return socket
    },
    get isAnswered() {
      return isAccepted || response?.headersSent === true
    },
    onGone: (then) =>
      whenClosed(socket, () => {
        if (response?.writableFinished !== true) then()
      }),
  }
}

export interface Upgrade {
  readonly socket: Duplex
  readonly early: Buffer
}

/** Returns the response for a request whose socket Node has handed over. The socket closes after it. */
function responseOn(request: IncomingMessage, socket: Duplex): ServerResponse {
  const response = new ServerResponse(request)
  response.shouldKeepAlive = false
  // A server of node:http has network sockets only.
  response.assignSocket(socket as Socket)
  response.once('finish', () => socket.end())
  return response
}

type Answering = Pick<Exchange, 'respond' | 'end' | 'fail' | 'onGone'>

function answering(response: ServerResponse): Answering {
  // What is written after the caller has left.
  response.on('error', () => undefined)
  return {
    respond({ status, headers }) {
      response.writeHead(status, forHttp1(headers))
      // Events and slow answers begin before their first byte.
      response.flushHeaders()
      return response
    },
    end(trailers) {
      if (Object.keys(trailers).length > 0) response.addTrailers(trailers as Record<string, string>)
      response.end()
    },
    fail: () => void response.destroy(),
    onGone: (then) =>
      whenClosed(response, () => {
        if (!response.writableFinished) then()
      }),
  }
}

/** Calls `then` when the stream is closed, also if it is already. */
function whenClosed(stream: Duplex | ServerResponse, then: () => void): void {
  if (stream.destroyed) then()
  else stream.once('close', then)
}
