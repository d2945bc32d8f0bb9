/** HTTP to the daemon over its socket, TCP or TLS: JSON calls, streamed bodies, and hijacked connections. */
import type http from 'node:http'
import { isIP } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import {
  exchange,
  fault,
  isFault,
  openAgent,
  orFault,
  sentences,
  type Fault,
  type HttpCall,
  type TlsOptions,
  hasCode,
} from '@windlass/kit'
import type { z } from 'zod'
import type { Endpoint } from './endpoint.ts'

export interface DockerRequest {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined
  /** An object is sent as JSON, bytes and streams as a tar archive. */
  readonly body?: object | Uint8Array | Readable | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
  /** Throws `docker-unreachable` if there is no response in time. No timeout when absent. */
  readonly timeoutMs?: number | undefined
  /** Never send the request twice, because carrying it out twice does harm. See `isAnswerLost`. */
  readonly isOnce?: boolean | undefined
}

/** A call of the daemon that is about to be repeated. */
export interface DockerRetry {
  /** What is repeated: `connect`, `start container`. */
  readonly operation: string
  readonly error: unknown
  readonly delayMs: number
}
export type OnRetry = (retry: DockerRetry) => void

export interface DockerHttp {
  readonly onRetry?: OnRetry | undefined
  readonly endpoint: Endpoint
  /** `/v1.41`, set once the version is negotiated. */
  prefix: string
  json<S extends z.ZodType>(method: string, path: string, shape: S, request?: DockerRequest): Promise<z.output<S>>
  /** Makes a call and ignores the response body. */
  done(method: string, path: string, request?: DockerRequest): Promise<void>
  /** Resolves with the response headers. The body is streamed. */
  stream(method: string, path: string, request?: DockerRequest): Promise<http.IncomingMessage>
  /** Takes the connection over after the response headers. */
  hijack(path: string, request?: DockerRequest): Promise<Duplex>
  close(): void
}

/** Timeout of calls that the daemon answers at once. */
export const SHORT_CALL_MS = 60_000
/** Timeout for the response headers of long-running calls, which come at once. Detects half-open connections. */
export const HEADERS_MS = 15_000

export function openHttp(endpoint: Endpoint, onRetry?: OnRetry): DockerHttp {
  const agent = openAgent({ tls: endpoint.kind === 'tcp' ? tlsOf(endpoint) : undefined })
  const target = targetOf(endpoint)

  async function send(
    method: string,
    path: string,
    request: DockerRequest,
    until: 'headers' | 'end',
  ): Promise<http.IncomingMessage> {
    const { query, body, headers: more, signal, timeoutMs, isOnce } = request
    const isJson = body !== undefined && !(body instanceof Uint8Array) && !isReadable(body)
    const type = body === undefined ? {} : { 'content-type': isJson ? 'application/json' : 'application/x-tar' }
    const call: HttpCall = {
      to: { ...target, path: client.prefix + path + toQuery(query) },
      agent,
      method,
      headers: { host: 'docker', ...type, ...more },
      body: isJson ? JSON.stringify(body) : body,
      signal,
      timeoutMs,
      until,
      isOnce,
    }
    const response = await unlessUnreachable(() => exchange(call), signal)
    if ((response.statusCode ?? 500) >= 400) throw await refused(`${method} ${path}`, response)
    return response
  }

  function unlessUnreachable<T>(work: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
    return orFault(work, { signal, toFault: (_why, cause) => unreachable(endpoint, cause) })
  }

  /** Makes a call and returns the response body. */
  async function sendForText(method: string, path: string, request: DockerRequest): Promise<string> {
    const response = await send(method, path, { timeoutMs: SHORT_CALL_MS, ...request }, 'end')
    return unlessUnreachable(() => text(response), request.signal)
  }

  const client: DockerHttp = {
    onRetry,
    endpoint,
    prefix: '',
    async json(method, path, shape, request = {}) {
      const parsed = shape.safeParse(JSON.parse(await sendForText(method, path, request)))
      if (!parsed.success)
        throw fault('docker-refused', { message: `${method} ${path} returned an unknown response: ${parsed.error.message}` })
      return parsed.data
    },
    async done(method, path, request = {}) {
      await sendForText(method, path, request)
    },
    stream: (method, path, request = {}) => send(method, path, request, 'headers'),
    async hijack(path, request = {}) {
      const headers = { connection: 'Upgrade', upgrade: 'tcp', ...request.headers }
      const response = await send('POST', path, { timeoutMs: HEADERS_MS, ...request, headers }, 'headers')
      if (response.statusCode === 101) return response.socket
      response.destroy()
      throw fault('docker-refused', { message: `POST ${path} returned ${response.statusCode} instead of an open connection.` })
    },
    close: () => agent.destroy(),
  }
  return client
}

function targetOf(endpoint: Endpoint): HttpCall['to'] {
  if (endpoint.kind === 'unix') return { socketPath: endpoint.path }
  return { protocol: endpoint.tls === undefined ? 'http:' : 'https:', hostname: endpoint.host, port: endpoint.port }
}

function tlsOf({ tls, host }: Endpoint & { kind: 'tcp' }): TlsOptions | undefined {
  if (tls === undefined) return undefined
  const { ca, cert, key, verify } = tls
  // Otherwise Node uses the Host header, which is always `docker`. An IP address is not a server name.
  return { ca, cert, key, serverName: tls.serverName ?? (isIP(host) === 0 ? host : ''), insecure: !verify }
}

function isReadable(body: unknown): body is Readable {
  return typeof body === 'object' && body !== null && 'pipe' in body
}

function toQuery(query: DockerRequest['query']): string {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined)
  return pairs.length === 0 ? '' : '?' + pairs.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join('&')
}

/** Returns the fault for a daemon that does not answer or stopped in the middle of a response. */
export function unreachable(endpoint: Endpoint, cause: unknown): Fault {
  const why = cause instanceof Error ? cause.message : String(cause)
  return fault(
    'docker-unreachable',
    { message: sentences(`The Docker daemon at ${endpoint.text} does not answer: ${why}`) },
    cause,
  )
}

/** Returns true if a connection closed before the response, so that the daemon may have carried the call out. */
export function isAnswerLost(error: unknown): boolean {
  return isFault(error, 'docker-unreachable') && hasCode(error.cause, 'ECONNRESET', 'EPIPE')
}

async function refused(call: string, response: http.IncomingMessage): Promise<Fault> {
  const body = await text(response).catch(() => '')
  return fault('docker-refused', { message: messageOf(body), dockerStatus: response.statusCode ?? 0, call })
}

function messageOf(body: string): string {
  try {
    const parsed: unknown = JSON.parse(body)
    if (typeof parsed === 'object' && parsed !== null && 'message' in parsed && typeof parsed.message === 'string')
      return parsed.message
  } catch {
    // Some errors of the daemon are plain text.
  }
  return body.trim().slice(0, 1000)
}
