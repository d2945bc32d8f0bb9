/** Several servers: a call at the wrong one reaches the runtime, and clients move from a server that stops. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { issueCertificates } from '@windlass/manifests'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { begin, call, codeOf, DOMAIN, HOST, openScene, openWire, until } from './support/scene.ts'

test('a call at another server reaches the runtime: bodies, events, WebSockets and departures (O016)', async () => {
  await using scene = await openScene()
  const far = await scene.startServer()
  await scene.connect()
  const answer = await call(far, '/app-proxy/echo?at=far', {
    method: 'POST',
    body: 'body',
    headers: { 'x-forwarded-for': '6.6.6.6' },
  })
  expect(JSON.parse(answer.text)).toMatchObject({ body: 'body', target: '/app-proxy/echo?at=far', headers: { host: HOST } })
  expect(JSON.parse(answer.text).headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1' })
  expect((await call(far, '/app-proxy/trailers')).trailers).toEqual({ 'x-checksum': 'abc' })
  const request = begin(far, '/workflows/events')
  request.end()
  const [events] = (await once(request, 'response')) as [IncomingMessage]
  const arrived = once(events, 'data') as Promise<[Buffer]>
  scene.router.send('one')
  expect(String((await arrived)[0])).toBe('data: one\n\n')
  request.destroy()
  await until(() => scene.router.left.includes('/workflows/events'))
  const socket = new WebSocket(`ws://127.0.0.1:${far.port}/app-proxy/ws`, { headers: { host: HOST } })
  const [hello] = (await once(socket, 'message')) as [Buffer]
  expect(String(hello)).toBe('hello 127.0.0.1')
  socket.close(4000)
  await until(() => scene.router.left.includes('/app-proxy/ws 4000'))
  expect((await call(far, '/app-proxy/echo', { host: `a-unknown.${DOMAIN}` })).status).toBe(404)
  // A proof that was not made by a server is not believed.
  const forged = await call(far, '/app-proxy/echo', {
    headers: { 'windlass-tunnel-peer': '9999999999999 x', 'x-forwarded-for': '6.6.6.6' },
  })
  expect(JSON.parse(forged.text).headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1' })
})

test('servers with TLS trust each other by the certificate of the hosts of runtimes (O016)', async () => {
  const {
    serverCert: cert,
    serverKey: key,
    ca,
  } = issueCertificates({
    now: Date.now(),
    validMs: 3_600_000,
    names: [`*.${DOMAIN}`],
  })
  const key2 = {
    sign: async (text: string) => `${text.length}`,
    verify: (text: string, code: string) => code === `${text.length}`,
  }
  await using scene = await openScene({ tls: { cert, key }, peers: { key: key2, ca } })
  const far = await scene.startServer()
  await scene.connect({ ca })
  expect((await call(far, '/app-proxy/status?code=204', { ca })).status).toBe(204)
})

test('a call whose server is gone is an absence, and the client moves to another server before its own stops (O016)', async () => {
  await using scene = await openScene()
  const far = await scene.startServer({ name: 'far' })
  // A load balancer that leads to the first server, and then to the other one.
  await using wire = await openWire(scene.server.port)
  const client = await scene.connect({ server: new URL(`http://localhost:${wire.port}`) })
  const held = begin(scene.server, '/workflows/events')
  held.end()
  const [events] = (await once(held, 'response')) as [IncomingMessage]
  wire.leadTo(far.port)
  const closing = scene.server.tunnel.close()
  await until(() => client.status().connections === 2)
  // The earlier connection still has its call. The server waits three seconds for it.
  const arrived = once(events, 'data') as Promise<[Buffer]>
  scene.router.send('last')
  expect(String((await arrived)[0])).toContain('last')
  events.on('error', () => undefined)
  expect((await call(far, '/app-proxy/status?code=204')).status).toBe(204)
  await closing
  const third = await scene.startServer({ name: 'third' })
  expect((await call(third, '/app-proxy/status?code=204')).status).toBe(204)
  scene.registry.urls.set('far', 'http://127.0.0.1:1')
  await until(async () => (await call(third, '/app-proxy/echo')).status === 503)
  expect(codeOf(await call(third, '/app-proxy/echo'))).toBe('tunnel-offline')
})
