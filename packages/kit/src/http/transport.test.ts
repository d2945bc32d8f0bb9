import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
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
