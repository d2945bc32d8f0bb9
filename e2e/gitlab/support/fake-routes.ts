/** Requests to the fake coordinator as tests see them, and answers that tests prepare. */
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http'
import { parseJson } from '@windlass/kit'

export interface RecordedRequest {
  /** Wall time of the end of the request, epoch milliseconds. */
  readonly at: number
  /** Port of the client, which identifies its connection. */
  readonly port: number | undefined
  readonly method: string
  /** Path below `/api/v4/`, without query. */
  readonly path: string
  readonly query: URLSearchParams
  readonly headers: IncomingHttpHeaders
  readonly bytes: Buffer
  /** Body as JSON; undefined if it is not JSON. */
  readonly json: unknown
  /** Status of the answer. Undefined while there is none, and for a connection that was broken instead. */
  status: number | undefined
}

export interface Answer {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** An object is sent as JSON. */
  readonly body?: object | string | Uint8Array
}

/** `break` closes the connection before the request is carried out, and `break-after` afterwards, instead of an answer. */
export type Prepared = Answer | 'break' | 'break-after'

/** Names of the routes, for prepared answers. */
export type Route =
  | 'register'
  | 'verify'
  | 'unregister'
  | 'unregister-manager'
  | 'reset-token'
  | 'request'
  | 'trace'
  | 'update'
  | 'artifacts-upload'
  | 'artifacts-download'
  | 'object-storage'

const ROUTES: readonly (readonly [method: string, path: RegExp, route: Route])[] = [
  ['POST', /^runners$/, 'register'],
  ['POST', /^runners\/verify$/, 'verify'],
  ['DELETE', /^runners$/, 'unregister'],
  ['DELETE', /^runners\/managers$/, 'unregister-manager'],
  ['POST', /^runners\/(\d+\/)?reset_authentication_token$/, 'reset-token'],
  ['POST', /^jobs\/request$/, 'request'],
  ['PATCH', /^jobs\/(\d+)\/trace$/, 'trace'],
  ['PUT', /^jobs\/(\d+)$/, 'update'],
  ['POST', /^jobs\/(\d+)\/artifacts$/, 'artifacts-upload'],
  ['GET', /^jobs\/(\d+)\/artifacts$/, 'artifacts-download'],
  ['GET', /^storage\/(\d+)\//, 'object-storage'],
]

/** Returns the route of a request, and the number in its path. */
export function routeOf({ method, path }: Pick<RecordedRequest, 'method' | 'path'>): { route: Route; id: number } | undefined {
  for (const [verb, pattern, route] of ROUTES) {
    const match = verb === method ? pattern.exec(path) : null
    if (match !== null) return { route, id: Number.parseInt(match[1] ?? '0', 10) }
  }
  return undefined
}

/** Reads a whole request. */
export async function recordRequest(request: IncomingMessage, basePath: string): Promise<RecordedRequest> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(Buffer.from(part))
  const bytes = Buffer.concat(parts)
  const url = new URL(request.url ?? '/', 'http://fake')
  const path = url.pathname.startsWith(basePath) ? url.pathname.slice(basePath.length) : url.pathname
  const port = request.socket.remotePort
  return {
    at: Date.now(),
    port,
    method: request.method ?? '',
    path,
    query: url.searchParams,
    headers: request.headers,
    bytes,
    json: parseJson(bytes.toString('utf8')),
    status: undefined,
  }
}

export function sendAnswer(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  const isJson = typeof body === 'object' && !(body instanceof Uint8Array)
  response.writeHead(status, { ...(isJson && { 'content-type': 'application/json' }), ...headers })
  response.end(isJson ? JSON.stringify(body) : body)
}
