import { once } from 'node:events'
import http from 'node:http'
import https from 'node:https'
import { connect } from 'node:net'
import type { Duplex } from 'node:stream'

export interface ConnectProxy extends AsyncDisposable {
  readonly port: number
  /** `CONNECT host:port` and `GET url` of calls that were let through. */
  readonly passed: string[]
  /** Number of calls without the right name and password. */
  readonly refused: string[]
}

export interface ConnectProxyOptions {
  /** The required `name:password`. */
  readonly login?: string
  /** Host names that the proxy resolves. */
  readonly hosts: Readonly<Record<string, string>>
  /** Serves TLS itself. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

/** Opens a forward proxy as companies have them: the only outbound connection, with a login, tunneling TLS. */
export async function openConnectProxy({ login, hosts, tls }: ConnectProxyOptions): Promise<ConnectProxy> {
  const passed: string[] = []
  const refused: string[] = []
  const isKnown = (request: http.IncomingMessage): boolean =>
    login === undefined || request.headers['proxy-authorization'] === `Basic ${Buffer.from(login).toString('base64')}`
  const forward = (request: http.IncomingMessage, response: http.ServerResponse): void => {
    const line = `${request.method} ${request.url}`
    if (!isKnown(request)) {
      refused.push(line)
      return void response.writeHead(407).end()
    }
    passed.push(line)
    const url = new URL(request.url ?? '')
    const target = { host: hosts[url.hostname] ?? url.hostname, port: url.port, path: url.pathname + url.search }
    const call = http.request({ ...target, method: request.method, headers: request.headers }, (answer) => {
      answer.pipe(response.writeHead(answer.statusCode ?? 502, answer.headers))
    })
    request.pipe(call.on('error', () => response.writeHead(502).end()))
  }
  const server = tls === undefined ? http.createServer(forward) : https.createServer(tls, forward)
  const sockets = new Set<Duplex>()
  server.on('connect', (request: http.IncomingMessage, near: Duplex) => {
    const line = `CONNECT ${request.url}`
    if (!isKnown(request)) {
      refused.push(line)
      return near.end('HTTP/1.1 407 Proxy Authentication Required\r\nProxy-Authenticate: Basic\r\n\r\n')
    }
    passed.push(line)
    const [host = '', port = ''] = (request.url ?? '').split(':')
    const far = connect(Number(port), hosts[host] ?? host, () => near.write('HTTP/1.1 200 OK\r\n\r\n'))
    for (const socket of [near, far]) sockets.add(socket.on('error', () => undefined).on('close', () => sockets.delete(socket)))
    near.pipe(far).pipe(near)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    passed,
    refused,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
