/** The ways to a router: through a tunnel, through a proxy like an ingress controller, and directly. */
import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import https from 'node:https'
import { issueCertificates } from '@windlass/manifests'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { begin, call, HOST, openScene, until } from '../../tunnel/test/support/scene.ts'
import { openRouterScene } from './support/router-scene.ts'

const targetAndSenders = (text: string): readonly [string, string, string] => {
  const { target, headers } = JSON.parse(text) as { target: string; headers: Record<string, string> }
  return [target, headers['x-forwarded-for'] ?? '', headers['x-forwarded-proto'] ?? '']
}

test('calls, events and WebSockets of a tunnel reach the services, with the caller that the server knows (O011, O012)', async () => {
  await using scene = await openRouterScene({ TRUSTED_PROXIES: '127.0.0.1' })
  await using tunnel = await openScene()
  await tunnel.connect({ router: new URL(`http://127.0.0.1:${scene.port}`) })
  const { server } = tunnel
  const answer = await call(server, '/workflows/echo')
  expect(targetAndSenders(answer.text)).toEqual(['/echo', '127.0.0.1, 127.0.0.1', 'http'])
  expect(targetAndSenders((await call(server, '/webhooks/ns/name/echo', { method: 'POST', body: '{}' })).text)[0]).toBe(
    '/webhooks/ns/name/echo',
  )
  const request = begin(server, '/workflows/events')
  request.end()
  const [events] = (await once(request, 'response')) as [IncomingMessage]
  const arrived = once(events, 'data') as Promise<[Buffer]>
  scene.workflows.send('one')
  expect(String((await arrived)[0])).toBe('data: one\n\n')
  request.destroy()
  await until(() => scene.workflows.left.includes('/events'))
  const socket = new WebSocket(`ws://127.0.0.1:${server.port}/app-proxy/ws`, { headers: { host: HOST } })
  const [hello] = (await once(socket, 'message')) as [Buffer]
  expect(String(hello)).toBe('hello 127.0.0.1, 127.0.0.1')
  socket.terminate()
  await until(() => scene.appProxy.left.includes('/app-proxy/ws 1006'))
})

test('behind a proxy that ends TLS, services get the scheme and the address of its caller', async () => {
  await using scene = await openRouterScene({ TRUSTED_PROXIES: '127.0.0.1' })
  const { serverCert: cert, serverKey: key, ca } = issueCertificates({ now: Date.now(), validMs: 3_600_000 })
  await using ingress = await startIngress(scene.port, { cert, key })
  const request = https.request({
    host: '127.0.0.1',
    port: ingress.port,
    path: '/app-proxy/echo',
    ca,
    servername: 'localhost',
    agent: false,
  })
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  const text = Buffer.concat((await response.toArray()) as Buffer[]).toString()
  expect(targetAndSenders(text)).toEqual(['/app-proxy/echo', '203.0.113.7, 127.0.0.1', 'https'])
})

/** A proxy that ends TLS as an ingress controller does, for a caller at an address of the documentation. */
async function startIngress(
  port: number,
  tls: { readonly cert: string; readonly key: string },
): Promise<AsyncDisposable & { readonly port: number }> {
  const server = https.createServer(tls, (request, response) => {
    const { method, url: path, headers } = request
    const forwarded = { 'x-forwarded-for': '203.0.113.7', 'x-forwarded-proto': 'https', 'x-forwarded-host': headers.host }
    const onward = http.request(
      { host: '127.0.0.1', port, method, path, headers: { ...headers, ...forwarded }, agent: false },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response)
      },
    )
    request.pipe(onward)
  })
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

test('a router without tunnel and ingress answers at its own address, for IPv4 and IPv6 (O019)', async () => {
  await using scene = await openRouterScene({ HOST: '' })
  for (const host of ['127.0.0.1', '::1']) {
    const request = http.request({
      host,
      port: scene.port,
      path: '/app-proxy/echo',
      headers: { host: 'runtime.example.com' },
      agent: false,
    })
    request.end()
    const [response] = (await once(request, 'response')) as [IncomingMessage]
    const text = Buffer.concat((await response.toArray()) as Buffer[]).toString()
    expect(targetAndSenders(text)).toEqual(['/app-proxy/echo', host, 'http'])
  }
})
