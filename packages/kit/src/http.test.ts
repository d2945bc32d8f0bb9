import { createServer, type RequestListener, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { nodeTransport } from './http.ts'

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

test('a body goes out with its length, and the answer comes back with status and headers', async () => {
  const url = await serve((request, response) => {
    response.setHeader('x-length', request.headers['content-length'] ?? 'none')
    request.pipe(response.writeHead(201))
  })
  const answer = await nodeTransport()({ method: 'POST', url, headers: {}, body: 'héllo' })
  expect([answer.status, answer.headers['x-length'], await answer.text()]).toEqual([201, '6', 'héllo'])
})

test('a kept socket that the server has closed meanwhile is replaced without a word', async () => {
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

test('a server that is silent is given up after the time limit, an absent one at once', async () => {
  const url = await serve(() => undefined)
  await expect(nodeTransport()({ method: 'GET', url, headers: {}, timeoutMs: 50 })).rejects.toThrow('no answer within 50 ms')
  await expect(nodeTransport()({ method: 'GET', url: 'http://127.0.0.1:1/', headers: {} })).rejects.toThrow('ECONNREFUSED')
})

test('a call ends when its signal is aborted', async () => {
  const url = await serve(() => undefined)
  const controller = new AbortController()
  const call = nodeTransport()({ method: 'GET', url, headers: {}, signal: controller.signal })
  controller.abort()
  await expect(call).rejects.toMatchObject({ name: 'AbortError' })
})
