/** What crosses a router: bodies, streams, sockets, headers, and departures on either side. */
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import http, { type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { gunzipSync } from 'node:zlib'
import { issueCertificates } from '@windlass/manifests'
import { expect, onTestFinished, test } from 'vitest'
import { WebSocket } from 'ws'
import { begin, call, until } from '../../tunnel/test/support/scene.ts'
import { startService } from '../../tunnel/test/support/service.ts'
import { callsOf, openRouterScene } from './support/router-scene.ts'

interface Echo {
  readonly headers: Readonly<Record<string, string>>
  readonly trailers: Readonly<Record<string, string>>
  readonly body: string
}

const echoOf = (text: string): Echo => JSON.parse(text) as Echo

/** Begins a call and returns its answer, of which nothing is read yet. */
async function answerOf(request: http.ClientRequest): Promise<IncomingMessage> {
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response
}

const openSocket = (port: number, path: string): WebSocket =>
  new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: { host: 'runtime.example.com' } }).on('error', () => undefined)

test('bodies stream in both directions: 32 MiB up and down, without a length too', async () => {
  await using scene = await openRouterScene()
  const bytes = 32 * 1024 * 1024
  let received = 0
  for await (const chunk of await answerOf(begin(scene, `/app-proxy/big?bytes=${bytes}`))) received += (chunk as Buffer).length
  expect(received).toBe(bytes)
  const block = Buffer.alloc(1024 * 1024, 'u')
  const upload = begin(scene, '/app-proxy/count', { method: 'POST' })
  const counted = once(upload, 'response') as Promise<[IncomingMessage]>
  for (let n = 0; n < 32; n += 1) if (!upload.write(block)) await once(upload, 'drain')
  upload.end()
  const [answer] = await counted
  expect(String(await buffer(answer))).toBe(String(bytes))
})

test('a caller that does not read stops the service, and only its own call', async () => {
  await using scene = await openRouterScene()
  const bytes = 1_000_000_000
  const request = begin(scene, `/app-proxy/big?bytes=${bytes}`)
  const response = await answerOf(request)
  response.pause()
  let before = -1
  // The buffers on the way are full when no more bytes leave the service.
  await until(async () => {
    const same = scene.appProxy.sent() === before
    before = scene.appProxy.sent()
    await new Promise((done) => setTimeout(done, 200))
    return same && before > 0
  })
  expect(before).toBeLessThan(bytes / 10)
  expect((await call(scene, '/app-proxy/length')).text).toHaveLength(1000)
  request.destroy()
  await until(() => scene.appProxy.left.includes('/app-proxy/big'))
})

test('a service that does not read stops the caller', async () => {
  await using deaf = await startDeaf()
  // The router does not read the connection of a caller whose bytes it cannot pass on, and so does not see it close.
  await using scene = await openRouterScene({ APP_PROXY_URL: deaf.url }, { drainMs: 0 })
  const upload = begin(scene, '/app-proxy/count', { method: 'POST' })
  upload.on('error', () => undefined)
  const block = Buffer.alloc(65_536)
  let taken = 0
  const push = (): void => {
    while (taken < 8_192 && !upload.destroyed) {
      taken += 1
      if (!upload.write(block)) return void upload.once('drain', push)
    }
  }
  push()
  let before = 0
  // The buffers on the way are full when no more bytes leave the caller.
  await until(async () => {
    const same = taken === before
    before = taken
    await new Promise((done) => setTimeout(done, 200))
    return same
  })
  expect(before).toBeLessThan(4_096)
  upload.destroy()
})

/** Accepts calls and reads nothing of their bodies. */
async function startDeaf(): Promise<AsyncDisposable & { readonly url: string }> {
  const server = http.createServer((request) => void request.pause())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  return {
    url: `http://127.0.0.1:${port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

test('a caller that leaves ends the call at the service, before and after the answer has begun (O020)', async () => {
  await using scene = await openRouterScene()
  for (const path of ['/app-proxy/silent', '/app-proxy/hang', '/app-proxy/events', '/webhooks/ns/name/silent']) {
    const service = path.startsWith('/app-proxy') ? scene.appProxy : scene.eventSource
    const request = begin(scene, path)
    request.on('error', () => undefined)
    if (path.endsWith('silent')) {
      request.end()
      await until(() => service.seen.includes(path))
    } else await answerOf(request)
    request.destroy()
    await until(() => service.left.includes(path))
  }
  const upload = begin(scene, '/app-proxy/count', { method: 'POST' })
  upload.on('error', () => undefined)
  upload.write('a part')
  await until(() => scene.appProxy.seen.includes('/app-proxy/count'))
  upload.destroy()
  await until(() => scene.appProxy.left.includes('/app-proxy/count'))
  await until(() => callsOf(scene.router) === 0)
})

test('an answer that a service breaks off is not complete for the caller either, compressed or not (O020)', async () => {
  await using scene = await openRouterScene()
  await expect(call(scene, '/app-proxy/break')).rejects.toThrow()
  const headers = { 'accept-encoding': 'gzip' }
  const response = await answerOf(begin(scene, '/app-proxy/break?type=text/plain', { headers }))
  expect(response.headers['content-encoding']).toBe('gzip')
  await expect(buffer(response)).rejects.toThrow()
  expect((await call(scene, '/app-proxy/status?code=204')).status).toBe(204)
})

test('an answer that comes before the end of the body reaches the caller', async () => {
  await using scene = await openRouterScene()
  const request = begin(scene, '/app-proxy/refuse', { method: 'POST', headers: { 'content-length': '1000000' } })
  request.on('error', () => undefined)
  request.write('a part')
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  expect(response.statusCode).toBe(413)
  request.destroy()
})

test.each(['/workflows/events', '/app-proxy/events'])(
  'server-sent events of %s arrive one by one while the stream is open (O020)',
  async (path) => {
    await using scene = await openRouterScene()
    const service = path.startsWith('/workflows') ? scene.workflows : scene.appProxy
    const headers = { accept: 'text/event-stream', 'accept-encoding': 'gzip' }
    const request = begin(scene, path, { headers })
    const response = await answerOf(request)
    expect(response.headers['content-type']).toBe('text/event-stream')
    expect(response.headers).not.toHaveProperty('content-encoding')
    for (const event of ['one', 'two', 'three']) {
      const arrived = once(response, 'data') as Promise<[Buffer]>
      service.send(event)
      expect(String((await arrived)[0])).toBe(`data: ${event}\n\n`)
    }
    request.destroy()
  },
)

test.each(['/app-proxy/ws', '/workflows/ws'])(
  'a WebSocket to %s crosses with text, bytes and its close code (O020)',
  async (path) => {
    await using scene = await openRouterScene()
    const service = path.startsWith('/workflows') ? scene.workflows : scene.appProxy
    const atService = path.replace('/workflows', '')
    const socket = openSocket(scene.port, path)
    const next = async (): Promise<[Buffer, boolean]> => (await once(socket, 'message')) as [Buffer, boolean]
    const hello = next()
    await once(socket, 'open')
    expect(String((await hello)[0])).toBe('hello 127.0.0.1')
    const text = next()
    socket.send('text')
    expect([String((await text)[0]), (await text)[1]]).toEqual(['text', false])
    const bytes = Buffer.alloc(1_000_000, 7)
    const echoed = next()
    socket.send(bytes)
    expect((await echoed)[0].equals(bytes)).toBe(true)
    socket.close(4001)
    await until(() => service.left.includes(`${atService} 4001`))
    const gone = openSocket(scene.port, path)
    await once(gone, 'open')
    gone.terminate()
    await until(() => service.left.includes(`${atService} 1006`))
    await until(() => callsOf(scene.router) === 0)
  },
)

test('a WebSocket that the service refuses, or that is down, gets an answer (O020, O021)', async () => {
  await using scene = await openRouterScene()
  const refused = openSocket(scene.port, '/app-proxy/no-socket')
  const [, response] = (await once(refused, 'unexpected-response')) as [unknown, IncomingMessage]
  expect(response.statusCode).toBe(403)
  await scene.appProxy.stop()
  const failed = openSocket(scene.port, '/app-proxy/ws')
  const [, answer] = (await once(failed, 'unexpected-response')) as [unknown, IncomingMessage]
  expect(answer.statusCode).toBe(502)
})

test('trailers cross in both directions, also beside compression (O020)', async () => {
  await using scene = await openRouterScene()
  const answer = await call(scene, '/app-proxy/trailers')
  expect(answer).toMatchObject({ text: 'part end', trailers: { 'x-checksum': 'abc' } })
  const response = await answerOf(begin(scene, '/app-proxy/trailers?type=text/plain', { headers: { 'accept-encoding': 'gzip' } }))
  expect(gunzipSync(await buffer(response)).toString()).toBe('part end')
  expect(response.trailers).toEqual({ 'x-checksum': 'abc' })
  const request = begin(scene, '/app-proxy/echo', { method: 'POST', headers: { trailer: 'x-sum' } })
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  request.write('body')
  request.addTrailers({ 'x-sum': '42' })
  request.end()
  const [echo] = await answered
  expect(echoOf(String(await buffer(echo)))).toMatchObject({ body: 'body', trailers: { 'x-sum': '42' } })
})

test('a caller that waits for 100 Continue gets it from the service, or its refusal instead (O020)', async () => {
  await using scene = await openRouterScene()
  const headers = { expect: '100-continue', 'content-length': '4' }
  const request = begin(scene, '/app-proxy/echo', { method: 'POST', headers })
  request.flushHeaders()
  await once(request, 'continue')
  request.end('body')
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  expect(echoOf(String(await buffer(response))).body).toBe('body')
  const refused = begin(scene, '/app-proxy/echo', { method: 'POST', headers: { ...headers, 'x-refuse': '1' } })
  let isContinued = false
  refused.once('continue', () => {
    isContinued = true
  })
  refused.flushHeaders()
  const [refusal] = (await once(refused, 'response')) as [IncomingMessage]
  expect([refusal.statusCode, isContinued]).toEqual([417, false])
  refused.destroy()
})

test('headers of 32 KiB cross in both directions, and larger ones than 64 KiB are refused (O020)', async () => {
  await using scene = await openRouterScene()
  const answer = await call(scene, '/app-proxy/large-headers', { headers: { 'x-large': 'x'.repeat(32_768) } })
  expect(answer.text).toBe('32768')
  expect(answer.headers['x-large']).toHaveLength(32_768)
  const tooLarge = call(scene, '/app-proxy/echo', { headers: { 'x-large': 'x'.repeat(70_000) } })
  // The connection may break before the answer is read.
  expect(
    await tooLarge.then(
      ({ status }) => status,
      () => 431,
    ),
  ).toBe(431)
})

/** Headers with which callers claim where they are. */
const CLAIMS = {
  'x-forwarded-for': '6.6.6.6',
  'x-forwarded-proto': 'https',
  'x-forwarded-host': 'ui.example',
  'x-forwarded-user': 'admin',
  forwarded: 'for=6.6.6.6',
  'x-real-ip': '6.6.6.6',
  'x-request-id': 'request-1234',
  'x-rewrite-url': '/metrics',
  'x-original-url': '/metrics',
  x_forwarded_for: '6.6.6.6',
}

test('what a caller says about itself is replaced, and hop-by-hop headers stay behind (O020)', async () => {
  await using scene = await openRouterScene()
  const { text } = await call(scene, '/app-proxy/echo', {
    headers: {
      ...CLAIMS,
      'x-access-token': 'abc',
      connection: 'keep-alive, x-secret-hop',
      'x-secret-hop': 'yes',
      'proxy-authorization': 'Basic x',
      te: 'trailers, deflate',
    },
  })
  const { headers } = echoOf(text)
  expect(headers).toMatchObject({
    host: 'a-prod.tunnels.test',
    'x-access-token': 'abc',
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'a-prod.tunnels.test',
    te: 'trailers',
  })
  expect(headers['x-request-id']).not.toBe('request-1234')
  for (const name of [
    'forwarded',
    'x-real-ip',
    'x-forwarded-user',
    'x-rewrite-url',
    'x-original-url',
    'x_forwarded_for',
    'x-secret-hop',
    'proxy-authorization',
  ])
    expect(headers).not.toHaveProperty(name)
})

test('what a trusted sender says is passed on with its address, except other paths and doubtful names (O020)', async () => {
  await using scene = await openRouterScene({ TRUSTED_PROXIES: '127.0.0.0/8' })
  const { headers } = echoOf((await call(scene, '/app-proxy/echo', { headers: CLAIMS })).text)
  expect(headers).toMatchObject({
    'x-forwarded-for': '6.6.6.6, 127.0.0.1',
    'x-forwarded-proto': 'https',
    'x-forwarded-host': 'ui.example',
    'x-real-ip': '6.6.6.6',
    'x-request-id': 'request-1234',
  })
  for (const name of ['x-rewrite-url', 'x-original-url', 'x_forwarded_for']) expect(headers).not.toHaveProperty(name)
  const without = echoOf((await call(scene, '/app-proxy/echo')).text).headers
  expect(without).toMatchObject({
    'x-forwarded-for': '127.0.0.1',
    'x-forwarded-proto': 'http',
    'x-forwarded-host': 'a-prod.tunnels.test',
  })
})

test('long text, XML and JSON are compressed for callers that accept it, and nothing else (O020)', async () => {
  await using scene = await openRouterScene()
  const ask = (query: Readonly<Record<string, string>>, accept?: string, method = 'GET'): Promise<IncomingMessage> =>
    answerOf(
      begin(scene, `/app-proxy/headers?${new URLSearchParams(query).toString()}`, {
        method,
        ...(accept !== undefined && { headers: { 'accept-encoding': accept } }),
      }),
    )
  for (const type of ['text/plain', 'application/xml', 'application/json; charset=utf-8']) {
    const response = await ask({ 'content-type': type, 'content-length': '2000', etag: '"abc"', vary: 'origin' }, 'br, gzip')
    expect(response.headers).toMatchObject({ 'content-encoding': 'gzip', etag: 'W/"abc"', vary: 'origin, accept-encoding' })
    expect(response.headers).not.toHaveProperty('content-length')
    const body = await buffer(response)
    expect(body.length).toBeLessThan(500)
    expect(gunzipSync(body).toString()).toBe('t'.repeat(2_000))
  }
  const plain = await ask({ 'content-type': 'application/json', 'content-length': '2000' })
  expect(plain.headers).toMatchObject({ 'content-length': '2000', vary: 'accept-encoding' })
  expect(await buffer(plain)).toHaveLength(2_000)
  const head = await ask({ 'content-type': 'application/json', 'content-length': '2000' }, 'gzip', 'HEAD')
  expect(head.headers['content-length']).toBe('2000')
  const page = await ask({ 'content-type': 'text/html' }, 'gzip')
  expect(page.headers).not.toHaveProperty('content-encoding')
  const encoded = await ask({ 'content-type': 'text/plain', 'content-encoding': 'identity' }, 'gzip')
  expect(encoded.headers['content-encoding']).toBe('identity')
  expect(await buffer(encoded)).toHaveLength(2_000)
})

test('each line of a compressed stream arrives when it was sent (O020)', async () => {
  await using scene = await openRouterScene()
  const request = begin(scene, '/workflows/events?type=application/json', { headers: { 'accept-encoding': 'gzip' } })
  const response = await answerOf(request)
  expect(response.headers['content-encoding']).toBe('gzip')
  for (const event of ['one', 'two']) {
    const arrived = once(response, 'data') as Promise<[Buffer]>
    scene.workflows.send(event)
    expect((await arrived)[0].length).toBeGreaterThan(0)
  }
  request.destroy()
  await until(() => scene.workflows.left.includes('/events'))
})

test('an Argo server with TLS is checked for its own name, unless a setting accepts any certificate (O020)', async () => {
  const { serverCert: cert, serverKey: key, ca } = issueCertificates({ now: Date.now(), validMs: 3_600_000 })
  const folder = mkdtempSync(join(tmpdir(), 'windlass-router-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const caFile = join(folder, 'ca.pem')
  writeFileSync(caFile, ca)
  await using secure = await startService({ tls: { cert, key } })
  const statusWith = async (env: Readonly<Record<string, string>>): Promise<number> => {
    await using scene = await openRouterScene({ WORKFLOWS_URL: secure.url.href, ...env })
    return (await call(scene, '/workflows/echo')).status
  }
  expect(await statusWith({})).toBe(502)
  expect(await statusWith({ CA_PATH: caFile })).toBe(200)
  expect(await statusWith({ WORKFLOWS_INSECURE: 'true' })).toBe(200)
})
