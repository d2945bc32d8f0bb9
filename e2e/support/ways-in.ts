/** What stands before an app-proxy in a test: an ingress controller that terminates TLS, and a way to the server that notes what passes. */
import { once } from 'node:events'
import http, { type IncomingMessage, type ServerResponse } from 'node:http'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'

export interface WayIn extends AsyncDisposable {
  readonly port: number
}

/** Passes HTTP and HTTPS calls on, as an ingress controller does: with `X-Forwarded-Proto`, whatever the caller has sent. */
export async function openTerminator(
  target: () => string,
  { cert, key }: { readonly cert: string; readonly key: string },
): Promise<{ readonly https: WayIn; readonly http: WayIn } & AsyncDisposable> {
  const pass = (scheme: 'http' | 'https') => (request: IncomingMessage, response: ServerResponse) =>
    void forward(request, response, { target: target(), headers: { 'x-forwarded-proto': scheme } }).catch(() =>
      response.destroy(),
    )
  const secure = await listen(https.createServer({ cert, key }, pass('https')))
  const plain = await listen(http.createServer(pass('http')))
  return {
    https: secure,
    http: plain,
    async [Symbol.asyncDispose]() {
      await secure[Symbol.asyncDispose]()
      await plain[Symbol.asyncDispose]()
    },
  }
}

export interface Recorder extends WayIn {
  readonly url: string
  /** Requests that passed: method, path, headers and body. */
  readonly passed: string[]
}

/** Passes calls on and notes each request. */
export async function openRecorder(target: string): Promise<Recorder> {
  const passed: string[] = []
  const way = await listen(
    http.createServer((request, response) => {
      const note = (body: Buffer): void =>
        void passed.push(`${request.method} ${request.url} ${JSON.stringify(request.headers)} ${body.toString()}`)
      void forward(request, response, { target, headers: {}, note }).catch(() => response.destroy())
    }),
  )
  return { ...way, url: `http://127.0.0.1:${way.port}`, passed }
}

interface Forwarding {
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly note?: (body: Buffer) => void
}

async function forward(request: IncomingMessage, response: ServerResponse, { target, headers, note }: Forwarding): Promise<void> {
  const { hostname, port } = new URL(target)
  const body = await buffer(request)
  note?.(body)
  const { 'transfer-encoding': _chunked, ...given } = request.headers
  const content = body.length > 0 ? { 'content-length': String(body.length) } : {}
  const { method, url: path } = request
  const passed = http.request({ host: hostname, port, method, path, headers: { ...given, ...content, ...headers }, agent: false })
  response.on('close', () => passed.destroy())
  passed.end(body)
  const [answer] = (await once(passed, 'response')) as [IncomingMessage]
  response.writeHead(answer.statusCode ?? 502, answer.headers)
  answer.pipe(response)
}

async function listen(server: http.Server): Promise<WayIn> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    // A server that listens has a port.
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close').catch(() => undefined)
    },
  }
}
