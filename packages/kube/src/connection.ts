/** How requests reach the API server, the same for HTTP and WebSocket. The client never uses a proxy (docs/development/adr/0037). */
import { urlToHttpOptions } from 'node:url'
import type { ClusterAccess } from './config.ts'

export interface Connection {
  /** Undefined for plain HTTP. */
  readonly tls:
    | {
        readonly ca: string | undefined
        readonly cert: string | undefined
        readonly key: string | undefined
        readonly insecure: boolean
      }
    | undefined
  /** Returns the address of a path below the URL of the server. */
  to(path: string): Pick<ReturnType<typeof urlToHttpOptions>, 'protocol' | 'hostname' | 'port'> & { readonly path: string }
  /** Returns the headers of each request. Tokens are read again, because they are replaced on disk. */
  headers(): Record<string, string>
}

export function connectionOf(access: ClusterAccess): Connection {
  const url = new URL(access.server)
  const { ca, clientCert, clientKey, insecure } = access
  const { protocol, hostname, port, path: base } = urlToHttpOptions(url)
  return {
    tls: url.protocol === 'https:' ? { ca, cert: clientCert, key: clientKey, insecure } : undefined,
    to: (path) => ({ protocol, hostname, port, path: (base === '/' ? '' : base) + path }),
    headers() {
      const token = access.token?.()
      return { 'user-agent': 'windlass', ...(token !== undefined && { authorization: `Bearer ${token}` }) }
    },
  }
}
