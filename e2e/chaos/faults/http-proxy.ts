/**
 * A proxy that parses just enough HTTP/1.1 to inject faults. It repeats requests, loses them, or cuts the response of a request that was carried out.
 * It runs between a client (agent, engine or driver) and a server over TCP, and between an engine and a Docker daemon over unix sockets.
 */
import http from 'node:http'
import net from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'

export type Endpoint = { readonly port: number } | { readonly socketPath: string }

/**
 * The fault of one request. `lose`: cut before it is forwarded. `cut-reply`: forwarded and answered, but the response is cut after `delayMs`.
 * `answer`: not forwarded, answered with this status and message. `hang`: never answered. `repeat`: forwarded `times` more, one after the other; the
 * client gets the first response.
 */
export type Verdict =
  | { readonly kind: 'pass'; readonly delayMs?: number }
  | { readonly kind: 'lose' }
  | { readonly kind: 'cut-reply'; readonly delayMs?: number }
  | { readonly kind: 'answer'; readonly status: number; readonly message?: string }
  | { readonly kind: 'hang' }
  | { readonly kind: 'repeat'; readonly times: number }

export interface Call {
  /** 1 for the first request since the proxy was opened. */
  readonly n: number
  readonly method: string
  readonly path: string
}

export interface HttpProxyOptions {
  readonly target: () => Endpoint
  readonly listen?: Endpoint
  readonly decide: (call: Call) => Verdict
}

export interface HttpProxy extends AsyncDisposable {
  /** 0 if it listens on a unix socket. */
  readonly port: number
  /** Number of requests, and of each applied verdict. */
  readonly counts: Record<Verdict['kind'] | 'calls', number>
}

/** Starts to listen, by default on a free loopback port. Request bodies are buffered in memory; responses are streamed. */
export async function openHttpProxy(options: HttpProxyOptions): Promise<HttpProxy> {
  const counts = { calls: 0, pass: 0, lose: 0, 'cut-reply': 0, answer: 0, hang: 0, repeat: 0 }
  const agent = new http.Agent({ keepAlive: true })
  const sockets = new Set<net.Socket>()
  const judge = (request: http.IncomingMessage): Verdict => {
    counts.calls += 1
    const verdict = options.decide({ n: counts.calls, method: request.method ?? 'GET', path: request.url ?? '/' })
    counts[verdict.kind] += 1
    return verdict
  }
  const server = http.createServer((request, response) => {
    const verdict = judge(request)
    const job = { request, response, target: options.target(), agent }
    void carryOut(job, verdict).catch(() => response.destroy())
  })
  server.on('upgrade', (request: http.IncomingMessage, socket: Duplex, head: Buffer) => {
    const verdict = judge(request)
    if (verdict.kind === 'lose') socket.destroy()
    else if (verdict.kind === 'cut-reply')
      cutReply(tunnel(request, socket, head, options.target()), { client: socket, delayMs: verdict.delayMs ?? 0 })
    else if (verdict.kind === 'hang') return
    else if (verdict.kind === 'answer')
      socket.end(`HTTP/1.1 ${verdict.status} Refused\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`)
    else tunnel(request, socket, head, options.target())
  })
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.setNoDelay(true)
    socket.once('close', () => sockets.delete(socket))
  })
  server.requestTimeout = 0
  await listen(server, options.listen)
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    counts,
    async [Symbol.asyncDispose]() {
      const closed = Promise.withResolvers<void>()
      server.close(() => closed.resolve())
      for (const socket of sockets) socket.destroy()
      agent.destroy()
      await closed.promise
    },
  }
}

interface Job {
  readonly request: http.IncomingMessage
  readonly response: http.ServerResponse
  readonly target: Endpoint
  readonly agent: http.Agent
}

async function carryOut(job: Job, verdict: Verdict): Promise<void> {
  const { request, response } = job
  if (verdict.kind === 'lose') {
    request.socket.destroy()
    return
  }
  const body = await buffer(request)
  if (verdict.kind === 'answer') {
    response.writeHead(verdict.status, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ message: verdict.message ?? 'refused by the fault proxy' }))
    return
  }
  if (verdict.kind === 'hang') return
  if (verdict.kind === 'pass' && verdict.delayMs !== undefined) await sleep(verdict.delayMs)
  const reply = await forward(job, body)
  if (verdict.kind === 'repeat') {
    for (let n = 0; n < verdict.times; n += 1) await drain(await forward(job, body))
  }
  if (verdict.kind === 'cut-reply') {
    await drain(reply)
    await sleep(verdict.delayMs ?? 0)
    request.socket.destroy()
    return
  }
  response.writeHead(reply.statusCode ?? 502, reply.rawHeaders)
  response.flushHeaders()
  response.once('close', () => reply.destroy())
  reply.pipe(response)
  reply.once('error', () => response.destroy())
}

function forward(job: Job, body: Buffer): Promise<http.IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  const { request, response, target, agent } = job
  const where = 'port' in target ? { host: '127.0.0.1', port: target.port } : { socketPath: target.socketPath }
  const headers = {
    ...request.headers,
    connection: 'keep-alive',
    ...(body.length > 0 && { 'content-length': String(body.length) }),
  }
  delete headers['transfer-encoding']
  const call = http.request({
    ...where,
    agent,
    method: request.method ?? 'GET',
    path: request.url ?? '/',
    headers,
    setDefaultHeaders: false,
  })
  call.once('response', resolve)
  call.once('error', reject)
  response.once('close', () => {
    if (!response.writableEnded) call.destroy()
  })
  call.end(body)
  return promise
}

async function drain(reply: http.IncomingMessage): Promise<void> {
  await buffer(reply)
}

/** Closes the connection of the client at the first bytes of the response, which then do not reach it. */
function cutReply(upstream: net.Socket, { client, delayMs }: { client: Duplex; delayMs: number }): void {
  upstream.unpipe(client)
  upstream.once('data', () => void sleep(delayMs).then(() => client.destroy()))
  upstream.resume()
}

/**
 * Docker's attach and exec switch from HTTP to a raw stream after the upgrade. Bytes are then forwarded unchanged in both directions. Returns the
 * connection to the target.
 */
function tunnel(request: http.IncomingMessage, client: Duplex, head: Buffer, target: Endpoint): net.Socket {
  const upstream = 'port' in target ? net.connect(target.port, '127.0.0.1') : net.connect(target.socketPath)
  const lines = [`${request.method} ${request.url} HTTP/1.1`]
  for (let n = 0; n < request.rawHeaders.length; n += 2) lines.push(`${request.rawHeaders[n]}: ${request.rawHeaders[n + 1]}`)
  upstream.write(`${lines.join('\r\n')}\r\n\r\n`)
  if (head.length > 0) upstream.write(head)
  client.pipe(upstream)
  upstream.pipe(client)
  client.once('error', () => upstream.destroy())
  upstream.once('error', () => client.destroy())
  client.once('close', () => upstream.destroy())
  upstream.once('close', () => client.destroy())
  return upstream
}

async function listen(server: http.Server, at: Endpoint | undefined): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>()
  server.once('error', reject)
  if (at !== undefined && 'socketPath' in at) server.listen(at.socketPath, resolve)
  else server.listen(at?.port ?? 0, '127.0.0.1', resolve)
  await promise
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
