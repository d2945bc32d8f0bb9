/** The first part of a call as it is passed on. What a caller says about itself is replaced. */
import { randomBytes } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import type { CallHead, Headers } from './exchange.ts'
import { crossing, saysWhereFrom } from './headers.ts'

export interface Caller {
  /** Address of the caller, behind proxies that are trusted. */
  readonly address: string
  /** True if the caller uses HTTPS, as far as this server or a trusted proxy knows. */
  readonly isSecure: boolean
  readonly requestId: string
}

/** Returns the first part of a call of a caller. */
export function headOf(request: IncomingMessage, { address, isSecure, requestId }: Caller): CallHead {
  const authority = request.headers.host ?? ''
  const headers: Headers = Object.fromEntries(Object.entries(crossing(request.headers)).filter(([name]) => !saysWhereFrom(name)))
  return {
    ...startOf(request),
    headers: {
      ...headers,
      'x-forwarded-for': address,
      'x-forwarded-proto': isSecure ? 'https' : 'http',
      'x-forwarded-host': authority,
      'x-request-id': requestId,
    },
  }
}

/** Returns the first part of a call of a server that is trusted, and has replaced what its caller said. */
export function headOfPeer(request: IncomingMessage): CallHead {
  return { ...startOf(request), headers: crossing(request.headers) }
}

function startOf({ method = 'GET', url = '/', headers }: IncomingMessage): Pick<CallHead, 'method' | 'path' | 'authority'> {
  return { method, path: url, authority: headers.host ?? '' }
}

const processId = randomBytes(6).toString('base64url')
let requests = 0

/** Returns the id of a request: that of a proxy in front of this server, or a new one. */
export function requestIdOf({ headers }: Pick<IncomingMessage, 'headers'>): string {
  const given = headers['x-request-id']
  return typeof given === 'string' && /^[\w.-]{8,64}$/.test(given) ? given : `${processId}-${(requests += 1).toString(36)}`
}
