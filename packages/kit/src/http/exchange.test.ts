import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { PassThrough } from 'node:stream'
import { text } from 'node:stream/consumers'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { fault } from '../faults.ts'
import { openAgent } from './agent.ts'
import { exchange, orFault, readText, type HttpCall } from './exchange.ts'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function serve(listener: RequestListener): Promise<HttpCall> {
  const started = createServer(listener)
  server = started
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve))
  const to = { hostname: '127.0.0.1', port: (started.address() as AddressInfo).port, path: '/' }
  return { to, agent: openAgent(), method: 'POST', headers: {} }
}

/** Serves one response per connection, as a load balancer does that was restarted while its clients kept connections. */
async function serveOncePerConnection(): Promise<HttpCall> {
  const used = new WeakSet<Socket>()
  return serve((request, response) => {
    if (used.has(request.socket)) return request.socket.resetAndDestroy()
    used.add(request.socket)
    setTimeout(() => response.end('ok'), 50)
  })
}

test('repeats a call until it gets a connection that works, although all kept ones are closed', async () => {
  const call = await serveOncePerConnection()
  const kept = Array.from({ length: 5 }, async () => text(await exchange(call)))
  await Promise.all(kept)
  expect(await text(await exchange({ ...call, body: 'x' }))).toBe('ok')
})

test('does not repeat a call whose body is a stream', async () => {
  const call = await serveOncePerConnection()
  await text(await exchange(call))
  await expect(exchange({ ...call, body: new PassThrough().end('x') })).rejects.toMatchObject({ code: 'ECONNRESET' })
})

test('sends a stream in chunks, and rejects with the error of the stream', async () => {
  const call = await serve((request, response) => void request.pipe(response))
  expect(await text(await exchange({ ...call, body: new PassThrough().end('from a stream') }))).toBe('from a stream')
  const broken = new PassThrough()
  const failed = exchange({ ...call, body: broken })
  broken.destroy(new Error('the disk is broken'))
  await expect(failed).rejects.toThrow('the disk is broken')
})

test('the timeout covers the body unless it is limited to the headers', async () => {
  const responses: ServerResponse[] = []
  const call = await serve((_request, response) => {
    response.write('a')
    responses.push(response)
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  const late = text(await exchange({ ...call, timeoutMs: 100 }))
  vi.advanceTimersByTime(100)
  await expect(late).rejects.toThrow('no answer within 100 ms')
  const slow = text(await exchange({ ...call, timeoutMs: 100, until: 'headers' }))
  vi.advanceTimersByTime(200)
  responses.at(-1)?.end('b')
  expect(await slow).toBe('ab')
})

test('an abort during the body breaks it with an AbortError, and one before the call sends nothing', async () => {
  let count = 0
  const call = await serve((_request, response) => {
    count += 1
    response.write('a')
  })
  const stop = new AbortController()
  const body = await exchange({ ...call, signal: stop.signal })
  const read = text(body)
  stop.abort(new Error('why'))
  await expect(read).rejects.toMatchObject({ name: 'AbortError', cause: new Error('why') })
  await expect(exchange({ ...call, signal: stop.signal })).rejects.toMatchObject({ name: 'AbortError' })
  expect(count).toBe(1)
})

test('an upgrade resolves with the open connection and the bytes that came with the headers', async () => {
  const call = await serve(() => undefined)
  server?.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: tcp\r\n\r\nearly')
    socket.once('data', (data) => socket.end(data))
  })
  const headers = { connection: 'Upgrade', upgrade: 'tcp' }
  const response = await exchange({ ...call, headers, timeoutMs: 5_000, until: 'headers' })
  expect(response.statusCode).toBe(101)
  response.socket.write(' and late')
  expect(await text(response.socket)).toBe('early and late')
})

test('a failure becomes the fault of the client; faults and the reason of an abort stay as they are', async () => {
  const toFault = (why: string) => fault('cluster-unreachable', { message: `no answer: ${why}` })
  const run = (error: unknown, signal?: AbortSignal) => orFault(() => Promise.reject(error), { signal, toFault })
  await expect(run(new Error('reset'))).rejects.toMatchObject({ code: 'cluster-unreachable', message: 'no answer: reset' })
  await expect(run(fault('not-found', { message: 'gone' }))).rejects.toMatchObject({ code: 'not-found' })
  await expect(run(new Error('reset'), AbortSignal.abort('stopped'))).rejects.toBe('stopped')
})

test('a body that is larger than the limit is refused', async () => {
  const call = await serve((_request, response) => response.end('12345'))
  const read = async (limit: number) => readText(await exchange(call), limit, () => new Error('too large'))
  expect(await read(5)).toBe('12345')
  await expect(read(4)).rejects.toThrow('too large')
})
