/** The typed client of `/v1`: one call function that checks answers against their shape, and a stream reader for SSE. */
import { Fault, fault, isFaultCode, type FaultDetails } from '@windlass/kit/faults'
import type { z } from 'zod'
import { ProblemDocument } from './base.ts'
import type { HttpResponse, Transport } from './transport.ts'

export interface ClientOptions {
  /** Base URL of the server, without `/v1`. */
  readonly url: string
  readonly token?: string | undefined
  readonly transport: Transport
}

export interface CallOptions {
  readonly query?: Readonly<Record<string, string | number | boolean | readonly string[] | undefined>> | undefined
  /** Sent as JSON, or as it is when bytes. */
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
  /** One call; `path` begins with `/`. Throws the server's fault, or `server-unreachable`. */
  call<S extends z.ZodType>(method: Method, path: string, reply: S, options?: CallOptions): Promise<z.output<S>>
  /** One call whose answer is text or nothing. */
  text(method: Method, path: string, options?: CallOptions): Promise<string>
  /** Body as bytes, as it comes. */
  bytes(path: string, options?: CallOptions): Promise<AsyncIterable<Uint8Array>>
  /** Events of an SSE stream until it ends or breaks (`server-unreachable`); the caller resumes from the last id. */
  events(path: string, options?: CallOptions): AsyncGenerator<ServerSentEvent>
  /** The same client with another token. */
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
    const response = await options.transport(request).catch((error: unknown) => {
      if (error instanceof Fault || call.signal?.aborted === true) throw error
      throw fault('server-unreachable', { message: `The server at ${base} cannot be reached: ${reasonOf(error)}.` }, error)
    })
    if (response.status >= 400) throw toFault(response.status, await response.text())
    return response
  }

  return {
    url: base,
    async call(method, path, reply, call = {}) {
      const response = await send(method, path, { timeoutMs: DEFAULT_TIMEOUT_MS, ...call })
      const text = await response.text()
      const parsed = reply.safeParse(text === '' ? {} : parseJson(text))
      if (!parsed.success)
        throw fault('internal', {
          message: `The answer of ${method} ${path} has another shape than expected: ${parsed.error.message}`,
        })
      return parsed.data
    },
    async text(method, path, call = {}) {
      return (await send(method, path, { timeoutMs: DEFAULT_TIMEOUT_MS, ...call })).text()
    },
    async bytes(path, call = {}) {
      return (await send('GET', path, call)).body
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
    throw fault('server-unreachable', { message: `The stream broke: ${reasonOf(error)}.` }, error)
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

function toFault(status: number, text: string): Fault {
  const parsed = ProblemDocument.safeParse(parseJson(text))
  if (!parsed.success) {
    const code =
      status === 401
        ? 'unauthenticated'
        : status === 403
          ? 'forbidden'
          : status === 404
            ? 'not-found'
            : status >= 500
              ? 'unavailable'
              : 'request-invalid'
    return fault(code, { message: `The server answered ${status}: ${text.slice(0, 300)}` })
  }
  const { code, detail, hint, requestId, problems, offset, offsets } = parsed.data
  const details: FaultDetails = {
    message: detail,
    ...(hint && {
      hint: code === 'internal' && requestId !== undefined ? `${hint} It is ${requestId}; the server's log has the rest.` : hint,
    }),
    ...(problems && { problems }),
    ...(offset !== undefined && { offset }),
    ...(offsets && { offsets }),
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return 'code' in error && typeof error.code === 'string' && error.message === '' ? error.code : error.message
}
