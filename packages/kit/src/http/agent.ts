/** Kept connections of the HTTP clients, with their certificates. */
import http from 'node:http'
import https from 'node:https'
import type { SecureContext } from 'node:tls'
import { defined } from '../defined.ts'
import { isSocks, SocksHttpAgent, SocksHttpsAgent } from './socks.ts'

export interface TlsOptions {
  /** PEM certificates. Default of `ca`: the certificates of Node. */
  readonly ca?: string | undefined
  readonly cert?: string | undefined
  readonly key?: string | undefined
  /** Expected name in the certificate of the server. Default: the host. Empty if the host is an IP address. */
  readonly serverName?: string | undefined
  /** True accepts any server certificate. */
  readonly insecure?: boolean | undefined
  /** Used instead of `ca`, `cert` and `key`. */
  readonly context?: SecureContext | undefined
}

export interface AgentOptions {
  /** Undefined: plain HTTP. */
  readonly tls?: TlsOptions | undefined
  /** Maximum number of open sockets per host. Default: unlimited. */
  readonly maxSockets?: number
  /** Time in which a SOCKS proxy must connect, milliseconds. Default: 30 s. Calls have a limit of their own, which does not close such a connection. */
  readonly connectMs?: number | undefined
  /** URLs of proxies, which may contain a user name and password. */
  readonly proxyEnv?: { readonly HTTP_PROXY: string | undefined; readonly HTTPS_PROXY: string | undefined }
}

/** Opens the connections to one or more servers. `destroy()` closes them. */
export function openAgent({ tls, maxSockets = Infinity, connectMs, proxyEnv }: AgentOptions = {}): http.Agent {
  const settings = { keepAlive: true, keepAliveMsecs: 15_000, maxSockets }
  const proxy = tls === undefined ? proxyEnv?.HTTP_PROXY : proxyEnv?.HTTPS_PROXY
  if (proxy !== undefined && isSocks(proxy))
    return tls === undefined
      ? new SocksHttpAgent({ url: proxy, connectMs }, settings)
      : new SocksHttpsAgent({ url: proxy, connectMs }, { ...settings, ...toNode(tls) })
  // Node rejects a URL of another scheme, also one that this agent does not use.
  const proxied = proxyEnv && { proxyEnv: tls === undefined ? { HTTP_PROXY: proxy } : { HTTPS_PROXY: proxy } }
  return tls === undefined
    ? new http.Agent({ ...settings, ...proxied })
    : new https.Agent({ ...settings, ...proxied, ...toNode(tls) })
}

function toNode({ ca, cert, key, serverName, insecure, context }: TlsOptions): https.AgentOptions {
  return {
    ...defined({ ca, cert, key, servername: serverName, secureContext: context }),
    rejectUnauthorized: insecure !== true,
  }
}
