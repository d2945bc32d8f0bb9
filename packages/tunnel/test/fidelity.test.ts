/** What crosses a tunnel, end to end: a caller, a server of tunnels, a client, and a router, each over real sockets. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { begin, call, codeOf, DOMAIN, HOST, openScene, until } from './support/scene.ts'

interface Echo {
  readonly method: string
  readonly target: string
  readonly headers: Readonly<Record<string, string>>
  readonly trailers: Readonly<Record<string, string>>
  readonly body: string
  readonly bytes: number
}

const echoOf = (text: string): Echo => JSON.parse(text) as Echo

test.each(['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND'])(
  '%s crosses with path, query, body and headers',
  async (method) => {
    await using scene = await openScene()
    await scene.connect()
    const body = method === 'GET' ? undefined : '{"a":1}'
    const answer = await call(scene.server, '/app-proxy/echo?q=%20x&q=2', {
      method,
      headers: { 'x-access-token': 'abc', cookie: 'a=1; b=2', 'content-type': 'application/json' },
      ...(body !== undefined && { body }),
    })
    expect(answer.status).toBe(200)
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2'])
    const echo = echoOf(answer.text)
    expect(echo).toMatchObject({ method, target: '/app-proxy/echo?q=%20x&q=2', body: body ?? '' })
    expect(echo.headers).toMatchObject({ host: HOST, 'x-access-token': 'abc', cookie: 'a=1; b=2' })
  },
)

test('cookies of a runtime are for its host alone, also through another server and with a WebSocket', async () => {
  await using scene = await openScene()
  const far = await scene.startServer()
  await scene.connect()
  const cookies = ['a=1; Path=/', `b=2; Domain=${DOMAIN}; Secure`, 'c=3; domain=.test', `d=4; Domain=${HOST}`]
  const query = cookies.map((cookie) => `cookie=${encodeURIComponent(cookie)}`).join('&')
  for (const server of [scene.server, far]) {
    const { headers } = await call(server, `/app-proxy/cookies?${query}`, { host: `${HOST.toUpperCase()}.:443` })
    expect(headers['set-cookie']).toEqual(['a=1; Path=/', 'b=2; Secure', 'c=3', `d=4; Domain=${HOST}`])
  }
  const socket = await openSocket(scene.server.port, '/app-proxy/ws')
  const [response] = (await once(socket, 'upgrade')) as [IncomingMessage]
  expect(response.headers['set-cookie']).toEqual(['ws=1; Path=/'])
  socket.terminate()
})

test('a call that offers HTTP/2 is an ordinary call with its body', async () => {
  await using scene = await openScene()
  await scene.connect()
  const headers = { connection: 'Upgrade, HTTP2-Settings', upgrade: 'h2c', 'http2-settings': 'AAMAAABkAAQAAP__' }
  const { text } = await call(scene.server, '/app-proxy/echo', { method: 'POST', body: 'body', headers })
  expect(echoOf(text)).toMatchObject({ method: 'POST', body: 'body' })
})

test('an answer keeps its status, its length and, for HEAD, its headers without a body', async () => {
  await using scene = await openScene()
  await scene.connect()
  expect((await call(scene.server, '/app-proxy/status?code=204')).status).toBe(204)
  expect((await call(scene.server, '/app-proxy/status?code=304')).status).toBe(304)
  const head = await call(scene.server, '/app-proxy/length', { method: 'HEAD' })
  expect(head).toMatchObject({ status: 200, text: '' })
  expect(head.headers['content-length']).toBe('1000')
  expect((await call(scene.server, '/app-proxy/length')).text).toHaveLength(1000)
})

test('what a caller says about itself is replaced, and hop-by-hop headers stay behind', async () => {
  await using scene = await openScene()
  await scene.connect()
  const { headers } = echoOf(
    (
      await call(scene.server, '/app-proxy/echo', {
        headers: {
          'x-forwarded-for': '6.6.6.6',
          'x-forwarded-proto': 'https',
          'x-forwarded-host': 'evil.example',
          'x-forwarded-user': 'admin',
          forwarded: 'for=6.6.6.6',
          'x-real-ip': '6.6.6.6',
          'true-client-ip': '6.6.6.6',
          x_forwarded_for: '6.6.6.6',
          'x-rewrite-url': '/metrics',
          'x-request-id': 'not valid!',
          connection: 'keep-alive, x-secret-hop',
          'x-secret-hop': 'yes',
          'proxy-authorization': 'Basic x',
          'windlass-tunnel-peer': 'forged',
          'windlass-tunnel-failure': 'path',
        },
      })
    ).text,
  )
  expect(headers).toMatchObject({ 'x-forwarded-for': '127.0.0.1', 'x-forwarded-proto': 'http', 'x-forwarded-host': HOST })
  expect(headers['x-request-id']).toMatch(/^[\w-]+$/)
  const absent = [
    'forwarded',
    'x-real-ip',
    'true-client-ip',
    'x_forwarded_for',
    'x-rewrite-url',
    'x-forwarded-user',
    'x-secret-hop',
    'proxy-authorization',
  ]
  for (const name of absent) expect(headers).not.toHaveProperty(name)
  expect(Object.keys(headers).filter((name) => name.startsWith('windlass-'))).toEqual([])
})

test('headers of 32 KiB cross in both directions', async () => {
  await using scene = await openScene()
  await scene.connect()
  const answer = await call(scene.server, '/app-proxy/large-headers', { headers: { 'x-large': 'x'.repeat(32_768) } })
  expect(answer.text).toBe('32768')
  expect(answer.headers['x-large']).toHaveLength(32_768)
})

test('trailers cross in both directions', async () => {
  await using scene = await openScene()
  await scene.connect()
  const answer = await call(scene.server, '/app-proxy/trailers')
  expect(answer).toMatchObject({ text: 'part end', trailers: { 'x-checksum': 'abc' } })
  const request = begin(scene.server, '/app-proxy/echo', { method: 'POST', headers: { trailer: 'x-sum' } })
  const answered = once(request, 'response') as Promise<[IncomingMessage]>
  request.write('body')
  request.addTrailers({ 'x-sum': '42', 'x-forwarded-for': '6.6.6.6' })
  request.end()
  const [response] = await answered
  let text = ''
  for await (const chunk of response) text += String(chunk)
  expect(echoOf(text)).toMatchObject({ body: 'body', trailers: { 'x-sum': '42' } })
  expect(echoOf(text).trailers).not.toHaveProperty('x-forwarded-for')
})

test('a caller that waits for 100 Continue gets it from the router, or its refusal instead', async () => {
  await using scene = await openScene()
  await scene.connect()
  const request = begin(scene.server, '/app-proxy/echo', {
    method: 'POST',
    headers: { expect: '100-continue', 'content-length': '4' },
  })
  request.flushHeaders()
  await once(request, 'continue')
  request.end('body')
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  for await (const chunk of response) text += String(chunk)
  expect(echoOf(text).body).toBe('body')
  const refused = begin(scene.server, '/app-proxy/echo', {
    method: 'POST',
    headers: { expect: '100-continue', 'content-length': '4', 'x-refuse': '1' },
  })
  let isContinued = false
  refused.once('continue', () => {
    isContinued = true
  })
  refused.flushHeaders()
  const [refusal] = (await once(refused, 'response')) as [IncomingMessage]
  expect([refusal.statusCode, isContinued]).toEqual([417, false])
  refused.destroy()
})

test('bodies stream: 64 MiB up and down, without a length too', async () => {
  await using scene = await openScene()
  await scene.connect()
  const bytes = 64 * 1024 * 1024
  const request = begin(scene.server, `/app-proxy/big?bytes=${bytes}`)
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  let received = 0
  for await (const chunk of response) received += (chunk as Buffer).length
  expect(received).toBe(bytes)
  const block = Buffer.alloc(1024 * 1024, 'u')
  const upload = begin(scene.server, '/app-proxy/count', { method: 'POST' })
  const counted = once(upload, 'response') as Promise<[IncomingMessage]>
  for (let n = 0; n < 64; n += 1) if (!upload.write(block)) await once(upload, 'drain')
  upload.end()
  const [answer] = await counted
  expect(String((await answer.toArray())[0])).toBe(String(bytes))
})

test('an answer that comes before the end of the body reaches the caller', async () => {
  await using scene = await openScene()
  await scene.connect()
  const request = begin(scene.server, '/app-proxy/refuse', { method: 'POST', headers: { 'content-length': '1000000' } })
  request.on('error', () => undefined)
  request.write('a part')
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  expect(response.statusCode).toBe(413)
  request.destroy()
  expect((await call(scene.server, '/app-proxy/status?code=204')).status).toBe(204)
})

test('server-sent events arrive one by one while the stream is open (O011)', async () => {
  await using scene = await openScene()
  await scene.connect()
  const request = begin(scene.server, '/workflows/events', { headers: { accept: 'text/event-stream' } })
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  expect(response.headers['content-type']).toBe('text/event-stream')
  for (const event of ['one', 'two', 'three']) {
    const arrived = once(response, 'data') as Promise<[Buffer]>
    scene.router.send(event)
    expect(String((await arrived)[0])).toBe(`data: ${event}\n\n`)
  }
  request.destroy()
  await until(() => scene.router.left.includes('/workflows/events'))
})

async function openSocket(port: number, path: string): Promise<WebSocket> {
  const socket = new WebSocket(`ws://127.0.0.1:${port}${path}`, { headers: { host: HOST } })
  socket.on('error', () => undefined)
  return socket
}

test('a WebSocket crosses with text, bytes and its close code, and the router can refuse it (O012)', async () => {
  await using scene = await openScene()
  await scene.connect()
  const socket = await openSocket(scene.server.port, '/app-proxy/ws')
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
  await until(() => scene.router.left.includes('/app-proxy/ws 4001'))
  const refused = await openSocket(scene.server.port, '/app-proxy/no-ws')
  const [, response] = (await once(refused, 'unexpected-response')) as [unknown, IncomingMessage]
  expect(response.statusCode).toBe(403)
  const unknown = new WebSocket(`ws://127.0.0.1:${scene.server.port}/app-proxy/ws`, { headers: { host: `a-other.${DOMAIN}` } })
  unknown.on('error', () => undefined)
  expect(((await once(unknown, 'unexpected-response')) as [unknown, IncomingMessage])[1].statusCode).toBe(404)
})

test('a caller that leaves ends the call at the router, before and after the answer has begun (O013)', async () => {
  await using scene = await openScene()
  const client = await scene.connect()
  for (const path of ['/app-proxy/silent', '/app-proxy/hang']) {
    const request = begin(scene.server, path)
    request.on('error', () => undefined)
    request.end()
    if (path === '/app-proxy/hang') await once(request, 'response')
    else await until(() => scene.router.seen.includes(path))
    request.destroy()
    await until(() => scene.router.left.includes(path))
  }
  const upload = begin(scene.server, '/app-proxy/count', { method: 'POST' })
  upload.on('error', () => undefined)
  upload.write('a part')
  await until(() => scene.router.seen.includes('/app-proxy/count'))
  upload.destroy()
  await until(() => scene.router.left.includes('/app-proxy/count'))
  const socket = await openSocket(scene.server.port, '/app-proxy/ws')
  await once(socket, 'open')
  socket.terminate()
  await until(() => scene.router.left.includes('/app-proxy/ws 1006'))
  await until(() => client.status().streams === 0)
})

test('an answer that the router breaks off is not complete for the caller either (O013)', async () => {
  await using scene = await openScene()
  await scene.connect()
  await expect(call(scene.server, '/app-proxy/break')).rejects.toThrow()
  const dropped = await call(scene.server, '/app-proxy/drop')
  expect([dropped.status, codeOf(dropped)]).toEqual([502, 'tunnel-broken'])
})

test('a client forwards only the paths of its list, and only to its router', async () => {
  await using scene = await openScene()
  await scene.connect()
  for (const path of ['/', '/metrics', '/app-proxy/../metrics', '/app-proxy/%2e%2e/metrics', '/app-proxy2']) {
    const answer = await call(scene.server, path)
    expect([path, answer.status, codeOf(answer)]).toEqual([path, 404, 'tunnel-path'])
  }
  expect((await call(scene.server, '/webhooks/ns/name')).text).toBe('the service knows no such path')
  expect(scene.router.seen.filter((path) => !path.startsWith('/app-proxy/') && !path.startsWith('/webhooks/'))).toEqual([])
  // CONNECT and absolute addresses would make it an open proxy.
  const connect = begin(scene.server, 'other.example:443', { method: 'CONNECT' })
  const refused = once(connect, 'error')
  connect.on('connect', (_response, socket: Socket) => socket.destroy())
  connect.end()
  await refused
})

test('a router that is not there is an answer that pages of other origins can read', async () => {
  await using scene = await openScene()
  await scene.connect()
  await scene.router.stop()
  const answer = await call(scene.server, '/app-proxy/echo', { headers: { origin: 'https://ui.example' } })
  expect([answer.status, codeOf(answer)]).toEqual([502, 'tunnel-router'])
  expect(answer.headers).toMatchObject({
    'access-control-allow-origin': 'https://ui.example',
    'access-control-allow-credentials': 'true',
    'retry-after': '5',
  })
  const preflight = await call(scene.server, '/app-proxy/echo', {
    method: 'OPTIONS',
    headers: { origin: 'https://ui.example', 'access-control-request-method': 'POST' },
  })
  expect(preflight.status).toBe(204)
})

test('200 calls beside a large download are answered while it goes on (O010)', async () => {
  await using scene = await openScene()
  const client = await scene.connect()
  const bytes = 256 * 1024 * 1024
  const download = begin(scene.server, `/app-proxy/big?bytes=${bytes}`)
  download.end()
  const [response] = (await once(download, 'response')) as [IncomingMessage]
  let received = 0
  response.on('data', (chunk: Buffer) => {
    received += chunk.length
  })
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, n) => call(scene.server, `/app-proxy/echo?n=${n}`, { method: 'POST', body: `body ${n}` })),
  )
  const during = received
  expect(answers.map(({ text }) => echoOf(text).body)).toEqual(Array.from({ length: 200 }, (_, n) => `body ${n}`))
  expect(during).toBeGreaterThan(0)
  expect(during).toBeLessThan(bytes)
  expect(client.status().calls['answered']).toBeGreaterThanOrEqual(200)
  response.on('error', () => undefined)
  download.destroy()
})

test('a download that is not read stops no other call', async () => {
  await using scene = await openScene()
  await scene.connect()
  const request = begin(scene.server, '/app-proxy/big?bytes=1000000000')
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  response.pause()
  // More bytes than one window, so that a shared one would be full.
  for (let n = 0; n < 5; n += 1) expect((await call(scene.server, '/app-proxy/big?bytes=8000000')).text).toHaveLength(8_000_000)
  request.destroy()
})

test('a stream without any bytes for too long ends, and one with some does not', async () => {
  // Longer than a busy machine pauses this process, in which all ends of the tunnel are.
  await using scene = await openScene({ timings: { idleMs: 3_000 } })
  await scene.connect()
  const request = begin(scene.server, '/workflows/events')
  request.end()
  const [events] = (await once(request, 'response')) as [IncomingMessage]
  let text = ''
  events.on('data', (chunk: Buffer) => {
    text += String(chunk)
  })
  events.on('error', () => undefined)
  const answered: unknown[] = []
  void call(scene.server, '/app-proxy/silent').then((answer) => answered.push(answer.status, codeOf(answer)))
  await until(() => {
    scene.router.send('more')
    return answered.length > 0
  })
  expect(answered).toEqual([502, 'tunnel-broken'])
  scene.router.send('last')
  await until(() => text.includes('data: last'))
  await until(() => events.closed)
})
