/** HTTP calls that validate their responses, and a reader for SSE streams. `@windlass/client` adds the routes. */
import { defined } from '@windlass/kit/defined'
import { Fault, fault, isFaultCode, sentences, type FaultCode, type FaultDetails } from '@windlass/kit/faults'
import { parseJson } from '@windlass/kit/json'
import type { z } from 'zod'
import { ProblemDocument } from './base.ts'
import { tolerant } from './tolerant.ts'
import type { HttpResponse, Transport } from './transport.ts'

export interface ClientOptions {
  /** Base URL of the server, without `/v1`. */
  readonly url: string
  readonly token?: string | undefined
  readonly transport: Transport
}

export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>> | undefined
  /** Sent as JSON; bytes are sent unchanged. */
  readonly body?: unknown
  readonly headers?: Readonly<Record<string, string>> | undefined
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'

export interface ServerSentEvent {
  readonly event: string
  readonly data: string
  readonly id: string | undefined
}

export interface Client {
  readonly url: string
  /** Sends a request; `path` begins with `/`. Throws the fault of the server, or `server-unreachable`. */
  call<S extends z.ZodType>(method: Method, path: string, reply: S, options?: CallOptions): Promise<z.output<S>>
  /** Sends a request whose response is text or empty. */
  text(method: Method, path: string, options?: CallOptions): Promise<string>
  /** Returns the response body as a stream of bytes. */
  bytes(path: string, options?: CallOptions, method?: Method): Promise<AsyncIterable<Uint8Array>>
  /** Yields the events of an SSE stream. Throws `server-unreachable` if the stream breaks; the caller resumes from the last id. */
  events(path: string, options?: CallOptions): AsyncGenerator<ServerSentEvent>
  /** Returns the same client with another token. */
  withToken(token: string): Client
}

const DEFAULT_TIMEOUT_MS = 30_000

export function createClient(options: ClientOptions): Client {
  const base = options.url.replace(/\/+$/, '')

  async function send(method: Method, path: string, call: CallOptions): Promise<HttpResponse> {
    const isBytes = call.body instanceof Uint8Array
    const headers: Record<string, string> = { accept: 'application/json', ...call.headers }
    if (options.token !== undefined) headers['authorization'] = `Bearer ${options.token}`
    if (call.body !== undefined) headers['content-type'] ??= isBytes ? 'application/octet-stream' : 'application/json'
    const body = call.body instanceof Uint8Array ? call.body : call.body === undefined ? undefined : JSON.stringify(call.body)
    const request = {
      method,
      url: base + path + toQuery(call.query),
      headers,
      body,
      signal: call.signal,
      timeoutMs: call.timeoutMs,
    }
    const response = await requireReachable(call.signal, () => options.transport(request))
    if (response.status < 400) return response
    const error = toFault(response, await requireReachable(call.signal, () => response.text()))
    closeForeign(response, error)
    throw error
  }

  /** Turns a network error into `server-unreachable`. A connection may break at any byte of a response. */
  async function requireReachable<T>(signal: AbortSignal | undefined, work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (error instanceof Fault || signal?.aborted === true) throw error
      const message = sentences(`The server at ${base} cannot be reached: ${reasonOf(error)}`)
      throw fault('server-unreachable', { message }, error)
    }
  }

  return {
    url: base,
    async call(method, path, reply, call = {}) {
      const response = await send(method, path, { timeoutMs: DEFAULT_TIMEOUT_MS, ...call })
      const text = await requireReachable(call.signal, () => response.text())
      const parsed = reply.safeParse(text === '' ? {} : parseJson(text))
      if (parsed.success) return parsed.data
      const message = `The response of ${method} ${path} is not valid: ${parsed.error.message}`
      const error = fault('internal', { message, foreign: true })
      closeForeign(response, error)
      throw error
    },
    async text(method, path, call = {}) {
      const response = await send(method, path, { timeoutMs: DEFAULT_TIMEOUT_MS, ...call })
      return requireReachable(call.signal, () => response.text())
    },
    async bytes(path, call = {}, method = 'GET') {
      return (await send(method, path, call)).body
    },
    async *events(path, call = {}) {
      const response = await send('GET', path, { ...call, headers: { ...call.headers, accept: 'text/event-stream' } })
      yield* readEvents(response.body)
    },
    withToken: (token) => createClient({ ...options, token }),
  }
}

async function* readEvents(body: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder()
  let rest = ''
  try {
    for await (const part of body) {
      rest += decoder.decode(part, { stream: true })
      let end = rest.indexOf('\n\n')
      let start = 0
      for (; end >= 0; end = rest.indexOf('\n\n', start)) {
        const event = parseEvent(rest.slice(start, end))
        if (event !== undefined) yield event
        start = end + 2
      }
      rest = rest.slice(start)
    }
  } catch (error) {
    throw fault('server-unreachable', { message: sentences(`The event stream was interrupted: ${reasonOf(error)}`) }, error)
  }
}

function parseEvent(block: string): ServerSentEvent | undefined {
  let event = 'message'
  let id: string | undefined
  const data: string[] = []
  for (const line of block.split('\n')) {
    if (line.startsWith('event: ')) event = line.slice(7)
    else if (line.startsWith('id: ')) id = line.slice(4)
    else if (line.startsWith('data: ')) data.push(line.slice(6))
  }
  return data.length === 0 ? undefined : { event, data: data.join('\n'), id }
}

/**
 * Fault codes for the statuses that proxies and load balancers send. Their 401 and 404 pages say nothing about the token and the resource, so they have a
 * code that no caller takes for an answer of the server.
 */
const FOREIGN: Readonly<Record<number, FaultCode>> = {
  401: 'proxy-answered',
  403: 'forbidden',
  404: 'proxy-answered',
  408: 'unavailable',
  413: 'payload-too-large',
  429: 'rate-limited',
}

/**
 * Closes the connection of a foreign response. A connection that was opened while a Service had no endpoints may lead to a gateway, which would
 * answer all further requests on it.
 */
function closeForeign(response: HttpResponse, error: Fault): void {
  if (error.details.foreign === true) response.disconnect?.()
}

function toFault({ status, headers }: HttpResponse, text: string): Fault {
  const parsed = tolerant(ProblemDocument).safeParse(parseJson(text))
  const seconds = Number(headers['retry-after'])
  const wait = seconds > 0 ? { retryAfter: seconds } : {}
  const isOurs = parsed.success && parsed.data.type === `urn:windlass:fault:${parsed.data.code}`
  if (!isOurs || !/^application\/problem\+json\b/i.test(headers['content-type'] ?? '')) {
    const code = FOREIGN[status] ?? (status >= 500 ? 'unavailable' : 'request-invalid')
    return fault(code, { message: `The server answered ${status}: ${text.slice(0, 300)}`, foreign: true, ...wait })
  }
  const { code, detail, hint, requestId, problems, offset, offsets } = parsed.data
  const details: FaultDetails = {
    message: detail,
    ...wait,
    ...(hint && {
      hint: code === 'internal' && requestId !== undefined ? `${hint} It is ${requestId}. See the server log for details.` : hint,
    }),
    ...defined({ problems, offset, offsets }),
  }
  return fault(isFaultCode(code) ? code : 'internal', details)
}

function toQuery(query: CallOptions['query']): string {
  const pairs = Object.entries(query ?? {}).flatMap(([key, value]) =>
    value === undefined ? [] : [value].flat().map((one) => [key, one] as const),
  )
  if (pairs.length === 0) return ''
  return '?' + pairs.map(([key, value]) => `${encodeURIComponent(key)}=${encodeURIComponent(String(value))}`).join('&')
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' && error.message === '' ? error.code : error.message
}
