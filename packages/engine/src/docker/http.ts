/** HTTP to the daemon over its socket, TCP or TLS: JSON calls, streamed bodies, and connections that are taken over (hijacked). */
import http from 'node:http'
import https from 'node:https'
import { isIP } from 'node:net'
import type { Duplex, Readable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { fault, type Fault } from '@windlass/kit'
import type { z } from 'zod'
import type { Endpoint } from './endpoint.ts'

export interface DockerRequest {
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined
  /** An object is sent as JSON; bytes and streams as a tar archive. */
  readonly body?: object | Uint8Array | Readable | undefined
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
  /** No answer within this time is `docker-unreachable`; none when absent. */
  readonly timeoutMs?: number | undefined
}

export interface DockerHttp {
  readonly endpoint: Endpoint
  /** `/v1.41`, set once the version is negotiated. */
  prefix: string
  json<S extends z.ZodType>(method: string, path: string, shape: S, request?: DockerRequest): Promise<z.output<S>>
  /** A call whose answer does not matter. */
  done(method: string, path: string, request?: DockerRequest): Promise<void>
  /** Resolves with the head of the answer; the body comes as it comes. */
  stream(method: string, path: string, request?: DockerRequest): Promise<http.IncomingMessage>
  /** Takes the connection over after the answer's head. */
  hijack(path: string, request?: DockerRequest): Promise<Duplex>
  close(): void
}

/** Calls that the daemon answers at once get this long. */
export const SHORT_CALL_MS = 60_000
/** The head of an answer whose body may take hours comes at once; a connection that is half open never brings it. */
export const HEAD_MS = 15_000

export function openHttp(endpoint: Endpoint): DockerHttp {
  const secure = endpoint.kind === 'tcp' && endpoint.tls !== undefined
  const agent = secure ? new https.Agent({ keepAlive: true, ...tlsOptions(endpoint) }) : new http.Agent({ keepAlive: true })
  const target = endpoint.kind === 'unix' ? { socketPath: endpoint.path } : { host: endpoint.host, port: endpoint.port }

  function open(method: string, path: string, request: DockerRequest): http.ClientRequest {
    const body = request.body
    const isJson = body !== undefined && !(body instanceof Uint8Array) && !isReadable(body)
    const bytes = isJson ? Buffer.from(JSON.stringify(body)) : body instanceof Uint8Array ? body : undefined
    const headers = {
      host: 'docker',
      ...(body !== undefined && { 'content-type': isJson ? 'application/json' : 'application/x-tar' }),
      ...(bytes !== undefined && { 'content-length': String(bytes.byteLength) }),
      ...request.headers,
    }
    const options = { ...target, agent, method, path: client.prefix + path + toQuery(request.query), headers }
    const call = (secure ? https : http).request({ ...options, ...(request.signal && { signal: request.signal }) })
    if (body !== undefined && isReadable(body)) {
      body.once('error', (error) => call.destroy(error))
      body.pipe(call)
    } else call.end(bytes)
    return call
  }

  async function send(method: string, path: string, request: DockerRequest): Promise<http.IncomingMessage> {
    const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
    const call = open(method, path, request)
    const timer =
      request.timeoutMs === undefined
        ? undefined
        : setTimeout(() => call.destroy(new Error(`no answer in ${request.timeoutMs} ms`)), request.timeoutMs)
    call.once('response', resolve)
    call.once('error', (error: NodeJS.ErrnoException) => {
      // A kept connection that the daemon had closed is replaced once: nothing of the request was processed.
      const stale = call.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE')
      if (stale && !isReadable(request.body)) send(method, path, request).then(resolve, reject)
      else reject(request.signal?.aborted === true ? request.signal.reason : unreachable(endpoint, error))
    })
    try {
      const response = await promise
      if ((response.statusCode ?? 500) >= 400) throw await refused(`${method} ${path}`, response)
      return response
    } finally {
      clearTimeout(timer)
    }
  }

  const client: DockerHttp = {
    endpoint,
    prefix: '',
    async json(method, path, shape, request = {}) {
      const response = await send(method, path, { timeoutMs: SHORT_CALL_MS, ...request })
      const parsed = shape.safeParse(JSON.parse(await bodyText(endpoint, response)))
      if (!parsed.success)
        throw fault('docker-refused', { message: `${method} ${path} answered in an unknown form: ${parsed.error.message}` })
      return parsed.data
    },
    async done(method, path, request = {}) {
      const response = await send(method, path, { timeoutMs: SHORT_CALL_MS, ...request })
      await bodyText(endpoint, response)
    },
    stream: (method, path, request = {}) => send(method, path, request),
    async hijack(path, request = {}) {
      const { promise, resolve, reject } = Promise.withResolvers<Duplex>()
      const call = open('POST', path, { ...request, headers: { connection: 'Upgrade', upgrade: 'tcp', ...request.headers } })
      const timer = setTimeout(() => call.destroy(new Error(`no answer in ${HEAD_MS} ms`)), HEAD_MS)
      call.once('upgrade', (_response, socket, head) => {
        if (head.length > 0) socket.unshift(head)
        resolve(socket)
      })
      call.once('response', (response) => refused(`POST ${path}`, response).then(reject, reject))
      call.once('error', (error) =>
        reject(request.signal?.aborted === true ? request.signal.reason : unreachable(endpoint, error)),
      )
      return promise.finally(() => clearTimeout(timer))
    },
    close: () => agent.destroy(),
  }
  return client
}

function tlsOptions(endpoint: Endpoint & { kind: 'tcp' }): https.AgentOptions {
  const { ca, cert, key, verify, serverName } = endpoint.tls ?? { verify: true }
  return {
    ...(ca !== undefined && { ca }),
    ...(cert !== undefined && { cert }),
    ...(key !== undefined && { key }),
    // Else Node takes the name of the Host header, which says `docker` to every daemon; an address is no name.
    servername: serverName ?? (isIP(endpoint.host) === 0 ? endpoint.host : ''),
    rejectUnauthorized: verify,
  }
}

function isReadable(body: unknown): body is Readable {
  return typeof body === 'object' && body !== null && 'pipe' in body
}

function toQuery(query: DockerRequest['query']): string {
  const pairs = Object.entries(query ?? {}).filter(([, value]) => value !== undefined)
  return pairs.length === 0 ? '' : '?' + pairs.map(([key, value]) => `${key}=${encodeURIComponent(String(value))}`).join('&')
}

async function bodyText(endpoint: Endpoint, response: http.IncomingMessage): Promise<string> {
  try {
    return await text(response)
  } catch (error) {
    throw unreachable(endpoint, error)
  }
}

/** The fault for a daemon that does not answer, or stopped answering in the middle. */
export function unreachable(endpoint: Endpoint, cause: unknown): Fault {
  const why = cause instanceof Error ? cause.message : String(cause)
  return fault('docker-unreachable', { message: `The Docker daemon at ${endpoint.text} does not answer: ${why}.` }, cause)
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
    // The daemon answers some errors as plain text.
  }
  return body.trim().slice(0, 1000)
}
