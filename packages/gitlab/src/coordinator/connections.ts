/** Kept connections to the coordinator, renewed when they are old or the certificates have changed. */
import type http from 'node:http'
import { openAgent, proxyOf, standardProxy, type Clock, type ProxySettings, type TlsOptions } from '@windlass/kit'

export interface ConnectionOptions {
  readonly base: string
  /** Certificates. A function is called for each request, and returns the same object until the files have changed. */
  readonly tls?: TlsOptions | (() => TlsOptions) | undefined
  /** Default: the standard environment variables. */
  readonly proxy?: ProxySettings | undefined
  /** Age at which connections are not used again. 0: never. Milliseconds. */
  readonly maxAgeMs: number
  readonly clock: Clock
}

export interface Connections {
  agent(): http.Agent
  close(): void
}

export function openConnections({ base, tls, proxy = standardProxy(), maxAgeMs, clock }: ConnectionOptions): Connections {
  const url = new URL(base)
  const isProxied = proxyOf(url, proxy) !== undefined
  const certificates = (): TlsOptions => (typeof tls === 'function' ? tls() : (tls ?? NO_TLS))
  let current: { readonly agent: http.Agent; readonly tls: TlsOptions; readonly openedAt: number } | undefined

  const open = (used: TlsOptions): http.Agent =>
    openAgent({
      tls: url.protocol === 'https:' ? used : undefined,
      connectMs: CONNECT_MS,
      ...(isProxied && { proxyEnv: { HTTP_PROXY: proxy.http, HTTPS_PROXY: proxy.https } }),
    })

  return {
    agent() {
      const used = certificates()
      const isOld = current !== undefined && maxAgeMs > 0 && clock.monotonic() - current.openedAt >= maxAgeMs
      if (current !== undefined && (isOld || current.tls !== used)) {
        retire(current.agent)
        current = undefined
      }
      current ??= { agent: open(used), tls: used, openedAt: clock.monotonic() }
      return current.agent
    },
    close: () => current?.agent.destroy(),
  }
}

/** Timeout for DNS, the connection and the tunnel of a proxy. Milliseconds. */
export const CONNECT_MS = 10_000
const NO_TLS: TlsOptions = {}

/** Closes the idle connections of an agent, and each other one when its call has ended. */
function retire(agent: http.Agent): void {
  agent.maxFreeSockets = 0
  for (const sockets of Object.values(agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy()
}
