import { createServer, type RequestListener, type Server } from 'node:http'
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { proxyFrom } from './proxy.ts'
import { nodeTransport } from './transport.ts'

let server: Server | undefined
afterEach(() => {
  server?.closeAllConnections()
  server?.close()
})

async function serve(listener: RequestListener): Promise<string> {
  const started = createServer(listener)
  server = started
  await new Promise<void>((resolve) => started.listen(0, '127.0.0.1', resolve))
  return `http://127.0.0.1:${(started.address() as AddressInfo).port}/`
}

test('sends the body with its length and returns status and headers', async () => {
  const url = await serve((request, response) => {
    response.setHeader('x-length', request.headers['content-length'] ?? 'none')
    request.pipe(response.writeHead(201))
  })
  const answer = await nodeTransport()({ method: 'POST', url, headers: {}, body: 'héllo' })
  expect([answer.status, answer.headers['x-length'], await answer.text()]).toEqual([201, '6', 'héllo'])
})

test('repeats a request on a new socket if the server closed the kept one', async () => {
  const url = await serve((request, response) => {
    response.end('ok')
    response.once('finish', () => setImmediate(() => request.socket.destroy()))
  })
  const transport = nodeTransport({ maxSockets: 1 })
  for (let n = 0; n < 20; n += 1) {
    const answer = await transport({ method: 'GET', url, headers: {} })
    expect(await answer.text()).toBe('ok')
  }
})

test('rejects after the timeout if the server does not answer, and at once if nothing listens', async () => {
  const url = await serve(() => undefined)
  await expect(nodeTransport()({ method: 'GET', url, headers: {}, timeoutMs: 50 })).rejects.toThrow('no answer within 50 ms')
  await expect(nodeTransport()({ method: 'GET', url: 'http://127.0.0.1:1/', headers: {} })).rejects.toThrow('ECONNREFUSED')
})

test('an aborted signal ends the call', async () => {
  const url = await serve(() => undefined)
  const controller = new AbortController()
  const call = nodeTransport()({ method: 'GET', url, headers: {}, signal: controller.signal })
  controller.abort()
  await expect(call).rejects.toMatchObject({ name: 'AbortError' })
})

test('a call through a SOCKS proxy that does not answer leaves no connection open', async () => {
  const sockets = new Set<Socket>()
  let opened = 0
  const proxy = createTcpServer((socket) => {
    opened += 1
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
    socket.resume()
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = `socks5://127.0.0.1:${(proxy.address() as AddressInfo).port}`
  const transport = nodeTransport({ proxy: proxyFrom({ HTTP_PROXY: url }), connectMs: 100 })
  await expect(transport({ method: 'GET', url: 'http://a.example/', headers: {} })).rejects.toThrow(/no connection|SOCKS proxy/)
  await expect.poll(() => [opened, sockets.size]).toEqual([1, 0])
  proxy.close()
})
