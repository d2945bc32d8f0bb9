/** Answers of a server or a router itself, instead of what it leads to. */
import type { IncomingHttpHeaders } from 'node:http'
import { defined, type Fault } from '@windlass/kit'
import type { Exchange, Headers } from './exchange.ts'

/** When a caller may try again. Seconds. */
const RETRY_S = 5

export interface Refused {
  readonly headers: IncomingHttpHeaders
  readonly requestId: string
  /** True if pages of other origins may read the answer. Pages call runtimes directly, and without it they could not tell an absence from a wrong address. */
  readonly isForPages: boolean
}

/** Answers a call with a fault, or a preflight with the permission to make the call that gets the fault. */
export function refuse(exchange: Exchange, fault: Fault, refused: Refused): void {
  if (exchange.isAnswered) return exchange.fail()
  const { headers, requestId, isForPages } = refused
  const cors = isForPages ? corsOf(headers) : {}
  const isPreflight = exchange.method === 'OPTIONS' && headers['access-control-request-method'] !== undefined
  if (isForPages && isPreflight) return permit(exchange, refused)
  const body = JSON.stringify(toProblem(fault, requestId))
  const to = exchange.respond({
    status: fault.status,
    headers: {
      'content-type': 'application/problem+json',
      'content-length': String(Buffer.byteLength(body)),
      'cache-control': 'no-store',
      'x-request-id': requestId,
      ...(fault.retryable && { 'retry-after': String(retryAfter(fault)) }),
      ...cors,
    },
    mayHaveTrailers: false,
  })
  to.write(body)
  return exchange.end({})
}

/** Answers a call with the permissions of a page, without a body. */
export function permit(exchange: Exchange, { headers, requestId }: Omit<Refused, 'isForPages'>): void {
  // Browsers use a permission again for 5 s by default. The service, which may be back by then, can permit less.
  const once = { ...corsOf(headers), 'access-control-max-age': '0' }
  exchange.respond({ status: 204, headers: { ...once, 'x-request-id': requestId }, mayHaveTrailers: false })
  exchange.end({})
}

function retryAfter({ details }: Fault): number {
  const seconds = details['retryAfter']
  return typeof seconds === 'number' ? seconds : RETRY_S
}

/** RFC 9457, as the rest of the API. */
function toProblem({ code, status, message, hint }: Fault, requestId: string): Record<string, unknown> {
  return { type: 'about:blank', title: code, status, detail: message, message, code, ...defined({ hint }), requestId }
}

/** The permissions that a runtime gives its pages. Nothing in the answer depends on the caller. */
function corsOf({ origin, 'access-control-request-headers': asked }: IncomingHttpHeaders): Headers {
  if (origin === undefined) return {}
  return {
    'access-control-allow-origin': origin,
    'access-control-allow-credentials': 'true',
    'access-control-allow-methods': 'GET,HEAD,PUT,PATCH,POST,DELETE',
    'access-control-allow-headers': asked ?? 'content-type,x-access-token',
    'access-control-expose-headers': 'retry-after,x-request-id',
    vary: 'origin',
  }
}
