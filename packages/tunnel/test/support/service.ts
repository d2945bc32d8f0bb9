/** A real HTTP server instead of a service of a GitOps runtime, or of its router. The last segment of a path says what it does. */
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { WebSocketServer } from 'ws'

export interface Service extends AsyncDisposable {
  readonly url: URL
  readonly port: number
  /** Calls whose caller left before the answer ended, by path. */
  readonly left: string[]
  /** Requests that arrived, by path. */
  readonly seen: string[]
  /** Bytes that the last answer of `big` has sent, as far as its socket took them. */
  sent(): number
  /** Sends an event to all readers of `events`. */
  send(event: string): void
  stop(): Promise<void>
}

const BLOCK = Buffer.alloc(65_536, 'x')

export interface ServiceInput {
  readonly host?: string
  /** Default: a free one. */
  readonly port?: number
  /** PEM. Default: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string }
}

export async function startService({ host = '127.0.0.1', port: asked = 0, tls }: ServiceInput = {}): Promise<Service> {
  const left: string[] = []
  const seen: string[] = []
  const readers = new Set<ServerResponse>()
  let sent = 0
  const handle = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = new URL(request.url ?? '', 'http://service')
    const given = url.searchParams.get('type')
    const type = given === null ? {} : { 'content-type': given }
    seen.push(url.pathname)
    response.on('close', () => {
      if (!response.writableFinished) left.push(url.pathname)
    })
    switch (url.pathname.split('/').at(-1)) {
      case 'echo': {
        const body = await buffer(request)
        const { method, headers, url: target, trailers } = request
        response.setHeader('set-cookie', ['a=1', 'b=2'])
        response.setHeader('content-type', 'application/json')
        return void response.end(JSON.stringify({ method, target, headers, trailers, body: body.toString(), bytes: body.length }))
      }
      case 'cookies':
        return void response.writeHead(200, { 'set-cookie': url.searchParams.getAll('cookie') }).end()
      case 'status':
        return void response.writeHead(Number(url.searchParams.get('code'))).end()
      case 'trailers': {
        response.writeHead(200, { trailer: 'x-checksum', ...type })
        response.write('part ')
        response.addTrailers({ 'x-checksum': 'abc' })
        return void response.end('end')
      }
      case 'large-headers':
        return void response.writeHead(200, { 'x-large': 'y'.repeat(32_768) }).end(request.headers['x-large']?.length.toString())
      case 'length':
        return void response.writeHead(200, { 'content-length': '1000' }).end(request.method === 'HEAD' ? '' : 'z'.repeat(1000))
      case 'big':
        sent = 0
        return sendBytes(response, Number(url.searchParams.get('bytes')), (bytes) => {
          sent += bytes
        })
      case 'headers':
        // Its query has the headers, and its body 2,000 bytes.
        return void response.writeHead(200, Object.fromEntries(url.searchParams)).end('t'.repeat(2_000))
      case 'redirect':
        return void response.writeHead(302, { location: url.searchParams.get('to') ?? '/' }).end()
      case 'count': {
        let bytes = 0
        for await (const chunk of request) bytes += (chunk as Buffer).length
        return void response.end(String(bytes))
      }
      case 'hang':
        response.flushHeaders()
        request.resume()
        return undefined
      case 'silent':
        request.resume()
        return undefined
      case 'refuse':
        // Before the body has arrived.
        return void response.writeHead(413).end('too large')
      case 'break':
        response.writeHead(200, { 'content-length': '1000', ...type })
        response.write('only a part')
        return void setImmediate(() => response.destroy())
      case 'drop':
        return void response.destroy()
      case 'events':
        response.writeHead(200, { 'content-type': 'text/event-stream', ...type }).flushHeaders()
        readers.add(response)
        return undefined
      default:
        return void response.writeHead(404).end('the service knows no such path')
    }
  }
  const onRequest = (request: IncomingMessage, response: ServerResponse): void => {
    // The caller may leave before the end of the body.
    handle(request, response).catch(() => response.destroy())
  }
  const settings = { maxHeaderSize: 65_536 }
  const server =
    tls === undefined ? http.createServer(settings, onRequest) : https.createServer({ ...settings, ...tls }, onRequest)
  server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    if (request.headers['x-refuse'] !== undefined) return void response.writeHead(417).end('not wanted')
    response.writeContinue()
    return void handle(request, response).catch(() => response.destroy())
  })
  const sockets = new WebSocketServer({ noServer: true })
  sockets.on('headers', (headers) => headers.push('Set-Cookie: ws=1; Domain=tunnels.test; Path=/'))
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const { pathname } = new URL(request.url ?? '', 'http://service')
    if (!pathname.endsWith('/ws')) return void socket.end('HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno')
    return sockets.handleUpgrade(request, socket, head, (client) => {
      client.send(`hello ${String(request.headers['x-forwarded-for'])}`)
      client.on('message', (data, isBinary) => client.send(data, { binary: isBinary }))
      client.on('close', (code) => left.push(`${pathname} ${code}`))
    })
  })
  await once(server.listen(asked, host), 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const stop = async (): Promise<void> => {
    for (const client of sockets.clients) client.terminate()
    server.closeAllConnections()
    await new Promise((done) => server.close(done))
  }
  return {
    url: new URL(`${tls === undefined ? 'http' : 'https'}://${tls === undefined ? host : 'localhost'}:${port}`),
    port,
    left,
    seen,
    sent: () => sent,
    send(event) {
      for (const reader of readers) reader.write(`data: ${event}\n\n`)
    },
    stop,
    [Symbol.asyncDispose]: stop,
  }
}

async function sendBytes(response: ServerResponse, bytes: number, onSent: (bytes: number) => void): Promise<void> {
  response.writeHead(200, { 'content-length': String(bytes) })
  for (let left = bytes; left > 0 && !response.destroyed; left -= BLOCK.length) {
    const block = left < BLOCK.length ? BLOCK.subarray(0, left) : BLOCK
    if (!response.write(block)) await once(response, 'drain').catch(() => undefined)
    onSent(block.length)
  }
  response.end()
}
