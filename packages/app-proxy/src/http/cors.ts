/** CORS: pages of the control plane call the app-proxy directly (https://fetch.spec.whatwg.org/#http-cors-protocol). */
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'

/** Methods and headers as the original allows them. `Authorization` is for programs; pages send `x-access-token`. */
const METHODS = 'GET,HEAD,PUT,PATCH,POST,DELETE'
const HEADERS = 'content-type,x-access-token'
/** Time for which browsers remember the answer. Seconds. */
const MAX_AGE_S = '600'

/** Returns the headers that allow a page to read an answer. Pages of other origins than the listed ones get none. */
export function corsHeaders({ origin }: IncomingHttpHeaders, origins: readonly string[]): OutgoingHttpHeaders {
  if (origin === undefined || !origins.includes(origin)) return { vary: 'Origin' }
  return {
    vary: 'Origin',
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-expose-headers': 'retry-after,x-request-id',
  }
}

/** Returns the headers of the answer to a preflight request. */
export function preflightHeaders(headers: IncomingHttpHeaders, origins: readonly string[]): OutgoingHttpHeaders {
  const cors = corsHeaders(headers, origins)
  if (cors['access-control-allow-origin'] === undefined) return cors
  return {
    ...cors,
    'access-control-allow-methods': METHODS,
    'access-control-allow-headers': HEADERS,
    'access-control-max-age': MAX_AGE_S,
  }
}
