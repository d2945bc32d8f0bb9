import { readFileSync } from 'node:fs'
import type http from 'node:http'
import { text } from 'node:stream/consumers'
import tls from 'node:tls'
import { urlToHttpOptions } from 'node:url'
import { standardProxy } from '../process/config.ts'
import { openAgent } from './agent.ts'
import { exchange } from './exchange.ts'
import { proxyOf, type ProxySettings } from './proxy.ts'

export interface TransportOptions {
  /** PEM file with additional certificate authorities. */
  readonly caFile?: string | undefined
  /** True accepts any server certificate. The caller logs a warning once. */
  readonly insecure?: boolean
  /** Proxies. Default: the standard environment variables. */
  readonly proxy?: ProxySettings
  /**
   * Connect timeout, milliseconds. Default: the limit of the operating system, which is minutes. Starts with the call and includes the DNS
   * lookup, the wait for one of `maxSockets` and the tunnel through a proxy.
   */
  readonly connectMs?: number | undefined
  /** Maximum number of open sockets per host. */
  readonly maxSockets?: number
}

export interface TransportRequest {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Uint8Array | undefined
  readonly signal?: AbortSignal | undefined
  readonly timeoutMs?: number | undefined
}

export interface TransportResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string | undefined>>
  readonly body: AsyncIterable<Uint8Array>
  text(): Promise<string>
  disconnect(): void
}

/**
 * Creates the `Transport` of the protocol client for Node: HTTP to any URL over kept connections (see `exchange`). Uses the proxies of
 * `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. Throws `config-invalid` if they are not valid.
 */
export function nodeTransport(options: TransportOptions = {}): (request: TransportRequest) => Promise<TransportResponse> {
  const agentOf = openAgents(options)
  return async ({ url: text, ...request }) => {
    const url = new URL(text)
    return toResponse(
      await exchange({ ...request, to: urlToHttpOptions(url), agent: agentOf(url), connectMs: options.connectMs }),
    )
  }
}

/** Opens four agents: with and without TLS, direct and through a proxy. The CAs of the file are added to the default ones. */
function openAgents({ caFile, insecure = false, maxSockets = 64, connectMs, proxy = standardProxy() }: TransportOptions) {
  const secure = { insecure, context: caFile === undefined ? undefined : secureContextWith({ ca: readFileSync(caFile, 'utf8') }) }
  const proxyEnv = { HTTP_PROXY: proxy.http, HTTPS_PROXY: proxy.https }
  const direct = { plain: openAgent({ maxSockets }), secure: openAgent({ maxSockets, tls: secure }) }
  const proxied = {
    plain: openAgent({ maxSockets, connectMs, proxyEnv }),
    secure: openAgent({ maxSockets, connectMs, tls: secure, proxyEnv }),
  }
  return (url: URL): http.Agent => {
    const agents = proxyOf(url, proxy) === undefined ? direct : proxied
    return url.protocol === 'https:' ? agents.secure : agents.plain
  }
}

/** Returns a context that trusts the authorities of `ca`, in PEM format, besides the default ones. Loading all of them takes 10 ms. */
export function secureContextWith({ ca, ...rest }: tls.SecureContextOptions & { readonly ca?: string }): tls.SecureContext {
  return tls.createSecureContext(ca === undefined ? rest : { ...rest, ca: [...tls.getCACertificates('default'), ca] })
}

function toResponse(response: http.IncomingMessage): TransportResponse {
  // A response drops its reference to the socket when it ends.
  const { socket } = response
  return {
    status: response.statusCode ?? 0,
    headers: flatten(response.headers),
    body: response,
    text: () => text(response),
    disconnect: () => void socket.destroy(),
  }
}

function flatten(headers: http.IncomingHttpHeaders): Record<string, string | undefined> {
  return Object.fromEntries(
    Object.entries(headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
  )
}
