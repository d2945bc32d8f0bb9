/**
 * Agents whose connections go through a SOCKS 5 proxy. Node itself knows only HTTP proxies. The proxy resolves the names of hosts, as it does for
 * Docker and other programs in Go.
 */
import http from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import { withoutBrackets } from './host.ts'

/** Default time in which a proxy must connect. Milliseconds. */
const CONNECT_MS = 30_000

type Created = (error: Error | null, socket: Duplex) => void

/** Returns true for the URL of a SOCKS proxy that is supported. */
export function isSocks(proxy: string): boolean {
  return /^socks5h?:\/\//i.test(proxy)
}

interface SocksProxy {
  readonly url: string
  /** Time in which the proxy must connect. Milliseconds. */
  readonly connectMs?: number | undefined
}

/** Agent for plain HTTP. */
export class SocksHttpAgent extends http.Agent {
  readonly #proxy: SocksProxy

  constructor(proxy: SocksProxy, options: http.AgentOptions) {
    super(options)
    this.#proxy = proxy
  }

  override createConnection(options: http.ClientRequestArgs, created?: Created): undefined {
    pass(connectThrough(this.#proxy, options), created)
  }
}

/** Agent for TLS, which begins behind the proxy. */
export class SocksHttpsAgent extends https.Agent {
  readonly #proxy: SocksProxy

  constructor(proxy: SocksProxy, options: https.AgentOptions) {
    super(options)
    this.#proxy = proxy
  }

  override createConnection(options: https.RequestOptions, created?: Created): undefined {
    const secured = connectThrough(this.#proxy, options).then((socket) => {
      const open = super.createConnection({ ...options, socket } as https.RequestOptions)
      return open ?? Promise.reject(new Error('no TLS connection'))
    })
    pass(secured, created)
  }
}

function pass(connection: Promise<Duplex>, created: Created | undefined): void {
  connection.then(
    (socket) => created?.(null, socket),
    // Node reads no socket beside an error.
    (error: Error) => created?.(error, undefined as unknown as Duplex),
  )
}

async function connectThrough(
  { url, connectMs = CONNECT_MS }: SocksProxy,
  { host, port }: http.ClientRequestArgs,
): Promise<Duplex> {
  // Loaded on demand: most processes have no such proxy.
  const { SocksClient } = await import('socks')
  const { hostname, port: proxyPort, username, password } = new URL(url)
  try {
    const login = username === '' ? {} : { userId: decodeURIComponent(username), password: decodeURIComponent(password) }
    const { socket } = await SocksClient.createConnection({
      command: 'connect',
      timeout: connectMs,
      destination: { host: withoutBrackets(host ?? 'localhost'), port: Number(port ?? 80) },
      proxy: { type: 5, host: withoutBrackets(hostname), port: Number(proxyPort === '' ? 1080 : proxyPort), ...login },
    })
    return socket
  } catch (error) {
    // The error of the library has the password in a field.
    const why = error instanceof Error ? error.message : String(error)
    throw Object.assign(new Error(`SOCKS proxy ${hostname}: ${why}`), { code: 'ERR_PROXY_TUNNEL' })
  }
}
