/** Callers without a token that try to end the server, a tunnel, or the calls of others. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import net from 'node:net'
import { expect, test } from 'vitest'
import { begin, call, codeOf, DOMAIN, openScene, until } from './support/scene.ts'

test('a registration in one packet with another call is refused, and the server continues', async () => {
  await using scene = await openScene()
  await scene.connect()
  const socket = net.connect(scene.server.port, '127.0.0.1')
  const first = `GET /healthz HTTP/1.1\r\nhost: ${DOMAIN}\r\n\r\n`
  const second = `GET /v1/tunnel HTTP/1.1\r\nhost: ${DOMAIN}\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\r\n`
  socket.on('error', () => undefined).resume()
  socket.write(first + second)
  await once(socket, 'close')
  expect((await call(scene.server, '/app-proxy/status?code=204')).status).toBe(204)
})

test('a call with a body that asks for a WebSocket is an ordinary call, and the next one arrives whole', async () => {
  await using scene = await openScene()
  await scene.connect()
  const headers = { connection: 'Upgrade', upgrade: 'websocket' }
  for (const body of ['first', 'second']) {
    const { text } = await call(scene.server, '/app-proxy/echo', { method: 'POST', body, headers })
    expect(JSON.parse(text)).toMatchObject({ method: 'POST', body })
  }
})

test.each(['http://other.example/', '*'])('the target %s is refused before it reaches a tunnel', async (target) => {
  await using scene = await openScene()
  const client = await scene.connect()
  const refused = await call(scene.server, target)
  expect([refused.status, codeOf(refused)]).toEqual([400, 'request-invalid'])
  expect(client.status().connections).toBe(1)
})

test('one address has a limit of calls in progress, and an end makes room', async () => {
  await using scene = await openScene({ callsAtOnce: 2 })
  await scene.connect()
  const held = [begin(scene.server, '/workflows/events'), begin(scene.server, '/workflows/events')]
  for (const request of held) {
    request.end()
    const [events] = (await once(request, 'response')) as [IncomingMessage]
    events.on('error', () => undefined)
  }
  expect((await call(scene.server, '/app-proxy/status?code=204')).status).toBe(429)
  for (const request of held) request.destroy()
  await until(async () => (await call(scene.server, '/app-proxy/status?code=204')).status === 204)
})
