/** Sends calls to a server by HTTP/1.1: to the router of a cluster, or to another server of the control plane. */
import http, { type IncomingHttpHeaders, type IncomingMessage } from 'node:http'
import https from 'node:https'
import { isIP, Socket, type LookupFunction } from 'node:net'
import type { Duplex } from 'node:stream'
import { hasCode, hostOf } from '@windlass/kit'
import { MAX_HEADER_BYTES } from './call-server.ts'
import type { Exchange, Headers, Meter, Outcome } from './exchange.ts'
import { crossing, crossingTrailers, mayHaveTrailers } from './headers.ts'
import { join, pump } from './pump.ts'

export interface OverHttp1 {
  /** Where the server listens. Only protocol, host and port of it count. */
  readonly origin: URL
  readonly agent: http.Agent
  /** Name of the server in its certificate. Default: the host of `origin`. */
  readonly serverName?: string
  /** Resolves the host of `origin`. Default: that of the operating system. */
  readonly lookup?: LookupFunction
  /** Sent besides the headers of the call. */
  readonly extra?: Headers
  /** Maximum time until the connection is open. Milliseconds. */
  readonly connectMs: number
  /** Maximum time without any bytes. Milliseconds. Default: none. */
  readonly idleMs?: number | undefined
  readonly meter: Meter
}

/** Passes a call on. Resolves when it is over. If the caller has no answer then (`isAnswered`), the outcome says why. */
export function callOverHttp1(exchange: Exchange, target: OverHttp1, isRepeat = false): Promise<Outcome> {
  const { body, upgrade } = exchange
  const { meter } = target
  const { promise, resolve } = Promise.withResolvers<Outcome>()
  const request = open(exchange, target)
  let answer: IncomingMessage | undefined
  exchange.onGone(() => {
    resolve('gone')
    answer?.destroy()
    request.destroy()
  })
  const connection = limitConnect(request, target.connectMs)
  const { idleMs } = target
  if (idleMs !== undefined)
    request.setTimeout(idleMs, () => {
      if (answer === undefined) resolve('idle')
      request.destroy(new Error(`no bytes for ${idleMs} ms`))
    })
  request.on('continue', () => exchange.continue())
  const breakOff = (): void => {
    exchange.fail()
    request.destroy()
    resolve('broken')
  }
  /** A message of the server that the caller cannot get, such as one with a header that HTTP/2 forbids, must not end this process. */
  const guarded = (work: () => void): void => {
    try {
      work()
    } catch {
      breakOff()
    }
  }
  const answerWith = (response: IncomingMessage): void => {
    const { statusCode: status = 502, headers } = response
    const to = exchange.respond({ status, headers: crossing(headers), mayHaveTrailers: mayHaveTrailers(headers) })
    const end = (): void => {
      if (!response.complete) return breakOff()
      exchange.end(crossingTrailers(response.trailers))
      return resolve('answered')
    }
    void pump(response, to, { onBytes: meter.received }).then(end).catch(breakOff)
  }
  const switchTo = (socket: Duplex, headers: IncomingHttpHeaders): void => {
    // Bytes in either direction pass through this socket.
    if (idleMs !== undefined && socket instanceof Socket) socket.setTimeout(idleMs, () => socket.destroy())
    const bytes = { onRead: meter.received, onWrite: meter.sent }
    void join(socket, exchange.accept(crossing(headers)), bytes).then(() => resolve('answered'))
  }
  request.once('response', (response) => {
    answer = response
    guarded(() => answerWith(response))
  })
  request.once('upgrade', ({ headers }, socket, early) => {
    if (early.length > 0) socket.unshift(early)
    socket.on('error', () => socket.destroy())
    if (upgrade !== undefined) return guarded(() => switchTo(socket, headers))
    socket.destroy()
    return breakOff()
  })
  request.on('error', (error) => {
    connection.stop()
    // A server closes kept connections at any time. The call did not reach it, and has nothing that was sent already.
    const isStale = request.reusedSocket && answer === undefined && hasCode(error, 'ECONNRESET', 'EPIPE')
    if (isStale && !isRepeat && body === undefined && SAFE.has(exchange.method))
      return void callOverHttp1(exchange, target, true).then(resolve)
    // The answer breaks by itself.
    if (answer === undefined) resolve(connection.wasOpen() ? 'broken' : 'unreachable')
    return undefined
  })
  if (body === undefined) request.end()
  else {
    // The caller may wait for `continue` before it sends the body.
    request.flushHeaders()
    void pump(body, request, { onBytes: meter.sent }).then(
      () => {
        // The answer came first, and the rest of the body was not wanted.
        if (answer?.complete === true) return void request.destroy()
        request.addTrailers(exchange.trailers() as Record<string, string>)
        return void request.end()
      },
      () => {
        if (answer === undefined || answer.complete) request.destroy()
      },
    )
  }
  return promise
}

/** Methods without an effect, RFC 9110, 9.2.1. */
const SAFE: ReadonlySet<string> = new Set(['GET', 'HEAD', 'OPTIONS'])

function open({ method, path, authority, headers: given, body, upgrade }: Exchange, target: OverHttp1): http.ClientRequest {
  const { origin, agent, serverName, lookup, extra } = target
  const host = hostOf(origin)
  const headers: Headers = { ...given, ...extra, host: authority }
  // A call that switches protocols has no body. A length would let the server take the next call on the connection for one.
  if (upgrade !== undefined) delete headers['content-length']
  const isChunked = body !== undefined && given['content-length'] === undefined
  return (origin.protocol === 'https:' ? https : http).request({
    hostname: host,
    port: origin.port === '' ? undefined : origin.port,
    // Node would take the header `host`, which names the host that the caller knows.
    servername: serverName ?? (isIP(host) === 0 ? host : ''),
    ...(lookup !== undefined && { lookup }),
    agent,
    method: upgrade === undefined ? method : 'GET',
    path,
    headers: {
      ...headers,
      ...(isChunked && { 'transfer-encoding': 'chunked' }),
      ...(upgrade !== undefined && { connection: 'Upgrade', upgrade }),
    },
    maxHeaderSize: MAX_HEADER_BYTES,
    setDefaultHeaders: false,
  })
}

interface Connection {
  /** Stops the timer. */
  stop(): void
  wasOpen(): boolean
}

/** Ends a call whose connection is not open in time. */
function limitConnect(request: http.ClientRequest, ms: number): Connection {
  let wasOpen = false
  const timer = setTimeout(() => request.destroy(new Error(`no connection within ${ms} ms`)), ms)
  const note = (): void => {
    wasOpen = true
    clearTimeout(timer)
  }
  request.once('socket', (socket) => {
    if (socket.connecting) socket.once('connect', note)
    else note()
  })
  return { stop: () => clearTimeout(timer), wasOpen: () => wasOpen }
}
