/**
 * A proxy that understands HTTP/1.1 just enough to hurt it: it repeats requests, loses them, or cuts the reply of a request that was
 * carried out. Between agent, engine or driver and a server over TCP; between an engine and a Docker daemon over unix sockets.
 */
import http from 'node:http'
import net from 'node:net'
import type { Duplex } from 'node:stream'
import { buffer } from 'node:stream/consumers'

export type Endpoint = { readonly port: number } | { readonly socketPath: string }

/**
 * What becomes of one request. `lose`: cut before it is forwarded. `cut-reply`: forwarded and answered, but the answer never arrives.
 * `answer`: not forwarded, answered with this status. `repeat`: forwarded `times` more, one after the other; the first reply counts.
 */
export type Verdict =
  | { readonly kind: 'pass'; readonly delayMs?: number }
  | { readonly kind: 'lose' }
  | { readonly kind: 'cut-reply' }
  | { readonly kind: 'answer'; readonly status: number }
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
  /** 0 when it listens on a unix socket. */
  readonly port: number
  /** Requests seen, and how many of each verdict were carried out. */
  readonly counts: Record<Verdict['kind'] | 'calls', number>
}

/** Starts to listen (on a free loopback port when nothing else is said). Bodies of requests are held in memory, replies flow through. */
export async function openHttpProxy(options: HttpProxyOptions): Promise<HttpProxy> {
  const counts = { calls: 0, pass: 0, lose: 0, 'cut-reply': 0, answer: 0, repeat: 0 }
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
    if (verdict.kind === 'lose' || verdict.kind === 'cut-reply') socket.destroy()
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
    response.end(JSON.stringify({ message: 'refused by the fault proxy' }))
    return
  }
  if (verdict.kind === 'pass' && verdict.delayMs !== undefined) await sleep(verdict.delayMs)
  const reply = await forward(job, body)
  if (verdict.kind === 'repeat') {
    for (let n = 0; n < verdict.times; n += 1) await drain(await forward(job, body))
  }
  if (verdict.kind === 'cut-reply') {
    await drain(reply)
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

/** Docker's attach and exec leave HTTP behind after the upgrade: from there on bytes are passed on untouched, in both directions. */
function tunnel(request: http.IncomingMessage, client: Duplex, head: Buffer, target: Endpoint): void {
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
