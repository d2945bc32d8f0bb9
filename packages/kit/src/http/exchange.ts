/**
 * One HTTP call over `node:http`, which all clients of this project share. It uses `node:http` because fetch needs 10 MB more memory per process,
 * and knows no Unix sockets, connection upgrades or certificates of clients.
 */
import http from 'node:http'
import https from 'node:https'
import type { Readable } from 'node:stream'
import { isFault, type Fault } from '../faults.ts'
import { hideLogin } from '../hide-login.ts'
import { hasCode } from '../system-error.ts'

export interface HttpCall {
  /** The address: a host or a Unix socket, and the path. */
  readonly to: Pick<http.RequestOptions, 'protocol' | 'hostname' | 'port' | 'path' | 'auth' | 'socketPath' | 'lookup'>
  /** The kept connections to use. False opens a connection for this call only. */
  readonly agent: http.Agent | false
  readonly method: string
  readonly headers: Readonly<Record<string, string>>
  /** Text and bytes are sent with their length. A stream is sent in chunks, unless the headers contain its length. */
  readonly body?: string | Uint8Array | Readable | undefined
  /** Its abort rejects the call, or breaks the body of the response, with an `AbortError`. */
  readonly signal?: AbortSignal | undefined
  /** Default: no timeout. Milliseconds. */
  readonly timeoutMs?: number | undefined
  /** What must have arrived before the timeout. Default: the whole response. */
  readonly until?: 'headers' | 'end'
  /** Never send the request twice: the server may have carried it out before the connection closed. Required if that does harm. */
  readonly isOnce?: boolean | undefined
  /** Timeout for the connection: DNS, the wait for a socket of the agent and the tunnel of a proxy. Default: none. Milliseconds. */
  readonly connectMs?: number | undefined
}

/** Maximum number of repetitions on kept connections that the server had closed. After a restart of a load balancer all of them may be closed. */
const MAX_REPEATS = 16

/**
 * Resolves with the response once its headers have arrived. After an upgrade (status 101) its `socket` is the open connection. If the server
 * closed a kept connection before it answered, the call is repeated on another one, unless its body is a stream or the call is `isOnce`.
 */
export function exchange(call: HttpCall, repeats = 0): Promise<http.IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  const { signal, timeoutMs, until } = call
  if (signal?.aborted === true) return Promise.reject(abortError(signal))
  let response: http.IncomingMessage | undefined
  const request = begin(call)
  // Rejects directly too, because a call whose proxy tunnel is not open yet emits no error when it is destroyed.
  const giveUp = (error: Error): void => {
    response?.destroy(error)
    request.destroy(error)
    reject(error)
  }
  const onAbort = (): void => giveUp(abortError(signal))
  signal?.addEventListener('abort', onAbort, { once: true })
  const timer =
    timeoutMs === undefined ? undefined : setTimeout(() => giveUp(new Error(`no answer within ${timeoutMs} ms`)), timeoutMs)
  const stopConnectTimer = call.connectMs === undefined ? undefined : limitConnect(request, call.connectMs, giveUp)
  const settle = (): void => {
    clearTimeout(timer)
    stopConnectTimer?.()
    signal?.removeEventListener('abort', onAbort)
  }
  request.on('response', (received) => {
    response = received
    if (until === 'headers') clearTimeout(timer)
    received.on('close', settle)
    resolve(received)
  })
  request.on('upgrade', (received, socket, head) => {
    settle()
    if (head.length > 0) socket.unshift(head)
    resolve(received)
  })
  request.on('error', (error: NodeJS.ErrnoException) => {
    settle()
    const isStale = request.reusedSocket && response === undefined && hasCode(error, 'ECONNRESET', 'EPIPE')
    const mayRepeat = call.isOnce !== true && !isStream(call.body) && repeats < MAX_REPEATS
    if (isStale && mayRepeat) exchange(call, repeats + 1).then(resolve, reject)
    else reject(withoutPassword(error))
  })
  return promise
}

function begin({ to, agent, method, headers: given, body }: HttpCall): http.ClientRequest {
  const bytes = typeof body === 'string' ? Buffer.from(body) : isStream(body) ? undefined : body
  const headers = bytes === undefined ? given : { ...given, 'content-length': String(bytes.byteLength) }
  const request = (to.protocol === 'https:' ? https : http).request({ ...to, agent, method, headers })
  if (isStream(body)) {
    body.once('error', (error) => request.destroy(error))
    body.pipe(request)
  } else request.end(bytes)
  return request
}

function isStream(body: HttpCall['body']): body is Readable {
  return typeof body === 'object' && 'pipe' in body
}

function abortError(signal: AbortSignal | undefined): DOMException {
  const error = new DOMException('The call was aborted.', 'AbortError')
  return Object.defineProperty(error, 'cause', { value: signal?.reason, configurable: true })
}

/** Fails a call whose socket is not connected in time, including the tunnel of a proxy. Returns a function that stops the timer. */
function limitConnect(request: http.ClientRequest, ms: number, giveUp: (error: Error) => void): () => void {
  const late = Object.assign(new Error(`no connection within ${ms} ms`), { code: 'ETIMEDOUT' })
  const timer = setTimeout(() => giveUp(late), ms)
  const stop = (): void => clearTimeout(timer)
  request.once('socket', (socket) => (socket.connecting ? socket.once('connect', stop) : stop()))
  return stop
}

/** Hides user name and password of the proxy, which Node puts into the message of a refused tunnel. */
function withoutPassword(error: NodeJS.ErrnoException): Error {
  if (error.code !== 'ERR_PROXY_TUNNEL') return error
  return Object.assign(new Error(hideLogin(error.message)), { code: error.code })
}

/**
 * Runs a call of a client and converts its failure to the client's fault, which `toFault` makes of the message. Throws the reason of the signal if it
 * is aborted. Faults are thrown unchanged.
 */
export async function orFault<T>(
  work: () => Promise<T>,
  { signal, toFault }: { readonly signal: AbortSignal | undefined; readonly toFault: (why: string, cause: unknown) => Fault },
): Promise<T> {
  try {
    return await work()
  } catch (error) {
    signal?.throwIfAborted()
    throw isFault(error) ? error : toFault(error instanceof Error ? error.message : String(error), error)
  }
}

/** Reads a body of at most `maxBytes` as text. Throws what `tooLarge` returns if there is more. */
export async function readText(body: AsyncIterable<Uint8Array>, maxBytes: number, tooLarge: () => Error): Promise<string> {
  const parts: Uint8Array[] = []
  let bytes = 0
  for await (const part of body) {
    bytes += part.byteLength
    if (bytes > maxBytes) throw tooLarge()
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}
