/** The first part of a call as a service gets it. */
import type { IncomingMessage } from 'node:http'
import { headOf, headOfPeer, requestIdOf, saysWhereFrom, type CallHead, type Headers } from '@windlass/tunnel/exchange'

export interface Head {
  readonly head: CallHead
  readonly requestId: string
}

/** Names another path than the request line. Some frameworks follow it, and nothing has checked it. */
const NAMES_PATH: ReadonlySet<string> = new Set(['x-original-url', 'x-original-uri', 'x-rewrite-url', 'x-forwarded-uri'])

/**
 * Returns the first part of a call. What it says about its caller (`X-Forwarded-*` and others) is kept from a trusted sender, such as an ingress controller or the
 * tunnel client, and replaced from all others.
 */
export function headFor(request: IncomingMessage, isTrusted: (address: string) => boolean): Head {
  const address = withoutMapping(request.socket.remoteAddress ?? '')
  if (isTrusted(address)) return headOfTrusted(request, address)
  const requestId = requestIdOf({ headers: {} })
  return { requestId, head: headOf(request, { address, isSecure: false, requestId }) }
}

function headOfTrusted(request: IncomingMessage, address: string): Head {
  const requestId = requestIdOf(request)
  const start = headOfPeer(request)
  const headers: Headers = Object.fromEntries(Object.entries(start.headers).filter(([name]) => mayPass(name)))
  const senders = [headers['x-forwarded-for'] ?? [], address].flat()
  return {
    requestId,
    head: {
      ...start,
      headers: {
        'x-forwarded-proto': 'http',
        'x-forwarded-host': start.authority,
        ...headers,
        'x-forwarded-for': senders.join(', '),
        'x-request-id': requestId,
      },
    },
  }
}

/** False for a name with `_` that some servers read as another one: proxies that replace headers do not replace it. */
function mayPass(name: string): boolean {
  if (NAMES_PATH.has(name.replaceAll('_', '-'))) return false
  return !name.includes('_') || !saysWhereFrom(name)
}

/** Returns an address of IPv4 without its mapping into IPv6 (RFC 4291, 2.5.5.2), which a socket for both has. */
function withoutMapping(address: string): string {
  return address.replace(/^::ffff:(?=\d+\.)/i, '')
}
