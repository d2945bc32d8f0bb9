/** Carries out the calls of a tunnel at the router of the cluster, and nowhere else. */
import http from 'node:http'
import https from 'node:https'
import type { Exchange, Meter, Outcome } from '../exchange/exchange.ts'
import { callOverHttp1 } from '../exchange/over-http1.ts'
import { INTERNAL, type Failure } from '../protocol.ts'
import { isAllowedPath } from './allowed-path.ts'

/** Maximum time until the router accepts a connection. Milliseconds. */
const CONNECT_MS = 10_000

export interface RouterOptions {
  /** Where the router listens. Every call goes there. */
  readonly router: URL
  /** Prefixes of the paths that are forwarded. */
  readonly prefixes: readonly string[]
  /** PEM of certificate authorities for a router with TLS, besides the default ones. */
  readonly routerCa?: string | undefined
  readonly meter: Meter
}

export interface Router {
  serve(exchange: Exchange): Promise<Outcome>
  close(): void
}

export function openRouter({ router, prefixes, meter, routerCa }: RouterOptions): Router {
  const agent =
    router.protocol === 'https:'
      ? new https.Agent({ keepAlive: true, ...(routerCa !== undefined && { ca: routerCa }) })
      : new http.Agent({ keepAlive: true })
  return {
    async serve(exchange) {
      if (!isAllowedPath(exchange.path, prefixes) || !isAllowedUpgrade(exchange)) return refuse(exchange, 'path')
      const outcome = await callOverHttp1(exchange, { origin: router, agent, connectMs: CONNECT_MS, meter })
      if (outcome !== 'unreachable' && outcome !== 'broken') return outcome
      return exchange.isAnswered ? outcome : refuse(exchange, outcome)
    },
    close: () => agent.destroy(),
  }
}

/** Other protocols, such as HTTP/2, would carry calls whose paths nobody checks. */
function isAllowedUpgrade({ upgrade }: Exchange): boolean {
  return upgrade === undefined || upgrade.toLowerCase() === 'websocket'
}

/** Tells the server why the call has no answer; it knows what callers expect. */
function refuse(exchange: Exchange, failure: Failure): Failure {
  exchange.respond({ status: 502, headers: { [INTERNAL.failure]: failure }, mayHaveTrailers: false })
  exchange.end({})
  return failure
}
