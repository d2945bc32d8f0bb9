/** How a tunnel begins, is replaced, breaks, moves and ends. */
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import net from 'node:net'
import { manualClock, systemClock } from '@windlass/kit'
import { issueCertificates } from '@windlass/manifests'
import { expect, onTestFinished, test } from 'vitest'
import { serveTunnelHealth, type TunnelClient } from '../src/client/index.ts'
import { begin, call, codeOf, DOMAIN, openScene, openWire, until, type Scene } from './support/scene.ts'

const certificates = (): ReturnType<typeof issueCertificates> =>
  issueCertificates({ now: Date.now(), validMs: 3_600_000, names: [`*.${DOMAIN}`] })

/** Short intervals, for tests of silence. */
const QUICK = { heartbeatMs: 100, deadMs: 1_000 }

const isAlive = async ({ server }: Scene): Promise<boolean> => (await call(server, '/app-proxy/status?code=204')).status === 204

/** Asks for a WebSocket that is not that of a tunnel. */
const UPGRADE = { connection: 'Upgrade', upgrade: 'websocket' }

/** Waits until a client has failed to connect once more. Returns why. */
async function problemOf(client: TunnelClient): Promise<string> {
  const { failures } = client.status()
  await until(() => client.status().failures > failures)
  return client.status().problem ?? ''
}

test('a client connects out by WSS to a server with a private CA, and not to one that it does not trust (O005, O014)', async () => {
  const { serverCert: cert, serverKey: key, ca } = certificates()
  await using scene = await openScene({ tls: { cert, key } })
  const stranger = scene.startClient()
  expect(await problemOf(stranger)).toMatch(/TLS: .*--ca-file/)
  await stranger.close()
  await scene.connect({ ca })
  const answer = await call(scene.server, '/app-proxy/echo', { ca })
  expect(JSON.parse(answer.text)).toMatchObject({ headers: { 'x-forwarded-proto': 'https' } })
})

test('a client goes through an HTTP proxy with a login, unless NO_PROXY names the server (O014)', async () => {
  const { serverCert: cert, serverKey: key, ca } = certificates()
  await using scene = await openScene({ tls: { cert, key } })
  const asked: string[] = []
  const proxy = createServer().on('connect', (request: IncomingMessage, near: net.Socket) => {
    near.on('error', () => undefined)
    asked.push(request.url ?? '')
    const login = Buffer.from('user:p w').toString('base64')
    if (request.headers['proxy-authorization'] !== `Basic ${login}`)
      return void near.end('HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n')
    // The proxy knows hosts that the client cannot resolve.
    const far = net.connect(scene.server.port, '127.0.0.1', () => {
      near.write('HTTP/1.1 200 Connection established\r\n\r\n')
      near.pipe(far).pipe(near)
    })
    far.on('error', () => near.destroy()).on('close', () => near.destroy())
    near.on('close', () => far.destroy())
    return undefined
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void proxy.close())
  const address = proxy.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const server = new URL(`https://register.${DOMAIN}:${scene.server.port}`)
  const refused = scene.startClient({ server, ca, env: { HTTPS_PROXY: `http://user:wrong@127.0.0.1:${port}` } })
  const problem = await problemOf(refused)
  expect(problem).toContain('proxy')
  expect(problem).not.toContain('wrong')
  await refused.close()
  const client = await scene.connect({ server, ca, env: { HTTPS_PROXY: `http://user:p%20w@127.0.0.1:${port}` } })
  expect(asked).toEqual([`register.${DOMAIN}:${scene.server.port}`, `register.${DOMAIN}:${scene.server.port}`])
  expect((await call(scene.server, '/app-proxy/status?code=204', { ca })).status).toBe(204)
  await client.close()
  await scene.connect({ ca, env: { HTTPS_PROXY: 'http://127.0.0.1:1', NO_PROXY: 'localhost' } })
})

test('a wrong token, one of another runtime, and another version are refused with a reason, and no host is served (O006)', async () => {
  const refusals: string[] = []
  await using scene = await openScene({
    events: { onRefused: async (hello, why) => void refusals.push(`${hello.runtime} ${why.code}`) },
  })
  scene.writeToken('unknown')
  const wrong = scene.startClient()
  expect(await problemOf(wrong)).toContain('no valid credential')
  expect(wrong.status().isOnline).toBe(false)
  const away = await call(scene.server, '/app-proxy/echo')
  expect([away.status, codeOf(away)]).toEqual([503, 'tunnel-offline'])
  await wrong.close()
  scene.writeToken('of-other', 'other')
  const other = scene.startClient()
  expect(await problemOf(other)).not.toBe('')
  expect(refusals).toEqual(['prod unauthenticated', 'prod forbidden'])
  const headers = { host: 'localhost', connection: 'Upgrade', upgrade: 'websocket', 'sec-websocket-version': '13' }
  const request = begin(scene.server, '/v1/tunnel', {
    headers: { ...headers, 'sec-websocket-key': 'AAAAAAAAAAAAAAAAAAAAAA==', 'sec-websocket-protocol': 'windlass-tunnel.v9' },
  })
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  expect(response.statusCode).toBe(426)
  response.resume()
})

test('of two clients of a runtime one gets calls; the other one is refused until the first has ended (O007)', async () => {
  const refusals: string[] = []
  await using scene = await openScene({ events: { onRefused: async (_hello, why) => void refusals.push(why.code) } })
  const first = await scene.connect()
  const clock = manualClock()
  const second = scene.startClient({ clock })
  expect(await problemOf(second)).toContain('Another client')
  expect([first.status().isOnline, second.status().isOnline, refusals]).toEqual([true, false, ['tunnel-taken']])
  expect(await isAlive(scene)).toBe(true)
  await first.close()
  // A refused client waits until the first one is late.
  clock.advance(scene.registry.lateMs)
  await until(() => second.status().isOnline)
  expect(await isAlive(scene)).toBe(true)
})

test.each([
  { asked: 30, waits: 30_000 },
  { asked: 3_600, waits: 60_000 },
])('a client that is refused for $asked s tries again after $waits ms, also with a new token', async ({ asked, waits }) => {
  await using scene = await openScene()
  let tries = 0
  const body = JSON.stringify({ code: 'rate-limited', detail: 'Too many clients.' })
  const refusing = createServer().on('upgrade', (_request, socket: net.Socket) => {
    tries += 1
    const head = `HTTP/1.1 429 Too Many Requests\r\nRetry-After: ${asked}\r\nContent-Length: ${body.length}\r\n\r\n`
    socket.on('error', () => undefined).end(head + body)
  })
  await once(refusing.listen(0, '127.0.0.1'), 'listening')
  onTestFinished(() => void refusing.close())
  const address = refusing.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const clock = manualClock()
  const client = scene.startClient({ server: new URL(`http://127.0.0.1:${port}`), clock })
  await until(() => client.status().failures === 1)
  scene.writeToken('second', 'prod')
  // The file is read meanwhile.
  for (const ms of [2_000, waits - 2_001]) {
    clock.advance(ms)
    await systemClock.sleep(100)
    expect(tries).toBe(1)
  }
  clock.advance(1)
  await until(() => tries === 2)
})

test('a client that is silent loses its place to a second one (O007)', async () => {
  await using scene = await openScene({ timings: { ...QUICK, deadMs: 60_000 } })
  scene.registry.lateMs = 500
  await using wire = await openWire(scene.server.port)
  const first = await scene.connect({ server: new URL(`http://localhost:${wire.port}`) })
  wire.freeze()
  const second = scene.startClient()
  await until(() => second.status().isOnline)
  expect(await isAlive(scene)).toBe(true)
  wire.repair()
  await until(() => !first.status().isOnline)
  expect(second.status().isOnline).toBe(true)
})

test('a client is back after its connection was cut, after silence, and after the server started again (O008)', async () => {
  await using scene = await openScene({ timings: QUICK })
  await using wire = await openWire(scene.server.port)
  const client = await scene.connect({ server: new URL(`http://localhost:${wire.port}`) })
  const broken = call(scene.server, '/app-proxy/silent')
  await until(() => scene.router.seen.includes('/app-proxy/silent'))
  wire.cut()
  const answer = await broken
  expect([answer.status, codeOf(answer)]).toEqual([502, 'tunnel-broken'])
  await until(() => !client.status().isOnline)
  const away = await call(scene.server, '/app-proxy/echo', { headers: { origin: 'https://ui.example' } })
  expect([away.status, codeOf(away)]).toEqual([503, 'tunnel-offline'])
  expect(away.headers).toMatchObject({ 'retry-after': '5', 'access-control-allow-origin': 'https://ui.example' })
  wire.repair()
  await until(() => client.status().isOnline)
  await until(() => isAlive(scene))
  // Nothing is closed, and nothing arrives: both ends give the connection up by themselves.
  wire.freeze()
  await until(() => !client.status().isOnline)
  await until(async () => (await call(scene.server, '/app-proxy/echo')).status === 503)
  wire.cut()
  wire.repair()
  await until(() => client.status().isOnline)
  await until(() => isAlive(scene))
  await scene.server.tunnel.close()
  await until(() => !client.status().isOnline)
  await scene.startServer({ port: scene.server.port, timings: QUICK })
  await until(() => client.status().isOnline)
  await until(() => isAlive(scene))
})

test('unknown hosts and known ones without a client are told apart (O009)', async () => {
  await using scene = await openScene()
  const headers = { origin: 'https://ui.example' }
  const offline = await call(scene.server, '/app-proxy/echo', { headers })
  expect([offline.status, codeOf(offline)]).toEqual([503, 'tunnel-offline'])
  expect(offline.headers).toMatchObject({
    'content-type': 'application/problem+json',
    'retry-after': '5',
    'access-control-allow-origin': 'https://ui.example',
    vary: 'origin',
  })
  for (const host of [`a-unknown.${DOMAIN}`, `x.a-prod.${DOMAIN}`, DOMAIN, 'a-prod.other.test', `register.${DOMAIN}`]) {
    const unknown = await call(scene.server, '/app-proxy/echo', { host, headers })
    expect([host, unknown.status, codeOf(unknown)]).toEqual([host, 404, 'not-found'])
    expect(unknown.headers).not.toHaveProperty('access-control-allow-origin')
  }
  expect((await call(scene.server, '/healthz', { host: DOMAIN })).text).toBe('ok\n')
})

test('a new token is used without a restart and without a lost call, and a revoked one ends the connection (O015)', async () => {
  // A pause of this process must not look like the end of a connection.
  await using scene = await openScene({ timings: { ...QUICK, deadMs: 60_000 }, callRate: { perSecond: 1e6, burst: 1e6 } })
  const client = await scene.connect()
  const held = begin(scene.server, '/workflows/events')
  held.end()
  const [events] = (await once(held, 'response')) as [IncomingMessage]
  const codes = new Set<number>()
  let isOver = false
  const calling = (async () => {
    while (!isOver) codes.add((await call(scene.server, '/app-proxy/status?code=204')).status)
  })()
  scene.writeToken('second', 'prod')
  await until(() => client.status().connections === 2)
  await until(() => [...scene.registry.held.values()][0]?.session.tokenId === 'second')
  const arrived = once(events, 'data') as Promise<[Buffer]>
  scene.router.send('still here')
  expect(String((await arrived)[0])).toContain('still here')
  isOver = true
  await calling
  expect([...codes]).toEqual([204])
  held.destroy()
  scene.registry.tokens.delete('second')
  await until(() => !client.status().isOnline)
  expect((await call(scene.server, '/app-proxy/echo')).status).toBe(503)
  scene.writeToken('third', 'prod')
  await until(() => client.status().isOnline)
})

test('a token that the server refuses leaves the connection as it is', async () => {
  await using scene = await openScene()
  const client = await scene.connect()
  scene.writeToken('not-valid')
  expect(await problemOf(client)).toContain('no valid credential')
  expect(client.status().isOnline).toBe(true)
  expect(await isAlive(scene)).toBe(true)
})

test('a call in progress ends before a client that stops, and another client need not wait for it', async () => {
  await using scene = await openScene()
  const client = await scene.connect()
  const request = begin(scene.server, '/workflows/events')
  request.end()
  const [events] = (await once(request, 'response')) as [IncomingMessage]
  const closing = client.close()
  await until(async () => (await call(scene.server, '/app-proxy/echo')).status === 503)
  const next = scene.startClient()
  await until(() => next.status().isOnline)
  expect([next.status().failures, await isAlive(scene)]).toEqual([0, true])
  const arrived = once(events, 'data') as Promise<[Buffer]>
  scene.router.send('last')
  expect(String((await arrived)[0])).toContain('last')
  request.destroy()
  await closing
})

test('too many calls of one address are refused, and others are not', async () => {
  await using scene = await openScene({
    callRate: { perSecond: 0.001, burst: 3 },
    callerOf: ({ headers }) => ({ address: String(headers['x-caller']), isSecure: false }),
  })
  await scene.connect()
  const statuses: number[] = []
  for (let n = 0; n < 4; n += 1)
    statuses.push((await call(scene.server, '/app-proxy/status?code=204', { headers: { 'x-caller': 'a' } })).status)
  expect(statuses).toEqual([204, 204, 204, 429])
  expect((await call(scene.server, '/app-proxy/status?code=204', { headers: { 'x-caller': 'b' } })).status).toBe(204)
})

test('a network of IPv6 has the limits of one caller', async () => {
  await using scene = await openScene({
    callRate: { perSecond: 0.001, burst: 2 },
    callsAtOnce: 1,
    callerOf: ({ headers }) => ({ address: String(headers['x-caller']), isSecure: false }),
  })
  await scene.connect()
  const codeFrom = async (caller: string): Promise<string> => {
    const answer = await call(scene.server, '/app-proxy/status?code=204', { headers: { 'x-caller': caller } })
    return answer.status === 204 ? 'answered' : codeOf(answer)
  }
  expect([await codeFrom('2001:db8::1'), await codeFrom('2001:db8::2'), await codeFrom('2001:db8::3')]).toEqual([
    'answered',
    'answered',
    'rate-limited',
  ])
  const held = begin(scene.server, '/workflows/events', { headers: { 'x-caller': '2001:db8:0:1::1' } })
  held.end()
  const [events] = (await once(held, 'response')) as [IncomingMessage]
  events.on('error', () => undefined)
  expect([await codeFrom('2001:db8:0:1::2'), await codeFrom('2001:db8:0:2::1')]).toEqual(['rate-limited', 'answered'])
  held.destroy()
})

test('registrations of a network of IPv6 have one limit', async () => {
  let last = 0
  await using scene = await openScene({
    callerOf: () => ({ address: `2001:db8::${(last += 1).toString(16)}`, isSecure: false }),
  })
  const register = (): ReturnType<typeof call> => call(scene.server, '/v1/tunnel', { host: DOMAIN, headers: UPGRADE })
  const statuses = new Set<number>()
  // Together, because the limit lets five more through each second.
  while (!statuses.has(429))
    for (const { status } of await Promise.all(Array.from({ length: 50 }, register))) statuses.add(status)
  // The first ones name no version of the tunnel.
  expect([...statuses]).toEqual([426, 429])
})

test('the bandwidth of a runtime is limited, and everything arrives', async () => {
  await using scene = await openScene({ bytesPerSecond: 4_000_000 })
  await scene.connect()
  const before = performance.now()
  expect((await call(scene.server, '/app-proxy/big?bytes=6000000')).text).toHaveLength(6_000_000)
  // A second of the rate passes at once.
  expect(performance.now() - before).toBeGreaterThan(400)
})

test('an upload that uses all of its bandwidth takes none from answers', { timeout: 30_000 }, async () => {
  await using scene = await openScene({ bytesPerSecond: 200 })
  await scene.connect()
  const upload = begin(scene.server, '/app-proxy/count', { method: 'POST' })
  upload.on('error', () => undefined)
  // It takes minutes.
  upload.write(Buffer.alloc(30_000))
  await until(() => scene.router.seen.includes('/app-proxy/count'))
  expect((await call(scene.server, '/app-proxy/big?bytes=150')).text).toHaveLength(150)
  upload.destroy()
  await until(() => scene.router.left.includes('/app-proxy/count'))
})

test('the health page of a client says whether it is connected, and what it has carried', async () => {
  await using scene = await openScene()
  scene.writeToken('unknown')
  const client = scene.startClient()
  await using health = await serveTunnelHealth(client, 0)
  const get = async (path: string): Promise<[number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${health.port}${path}`)
    return [answer.status, await answer.text()]
  }
  await until(() => client.status().failures > 0)
  expect((await get('/healthz'))[0]).toBe(200)
  expect(await get('/readyz')).toEqual([503, expect.stringContaining('no valid credential')])
  scene.writeToken('second', 'prod')
  await until(() => client.status().isOnline)
  await call(scene.server, '/app-proxy/echo', { method: 'POST', body: 'twelve bytes' })
  expect((await get('/readyz'))[0]).toBe(200)
  const [, metrics] = await get('/metrics')
  expect(metrics).toContain('windlass_tunnel_online 1\n')
  expect(metrics).toContain('windlass_tunnel_calls_total{outcome="answered"} 1\n')
  expect(metrics).toContain('windlass_tunnel_bytes_total{direction="from-caller"} 12\n')
  const names = scene.server.tunnel.metrics().map(({ name }) => name)
  expect(names).toContain('windlass_tunnel_client_round_trip_seconds')
})

test('of several clients one is connected, and the next one takes its place without a refused call (O077)', async () => {
  await using scene = await openScene()
  const first = await scene.connect({ isStandby: true })
  await using wire = await openWire(scene.server.port)
  const second = scene.startClient({ isStandby: true, server: new URL(`http://localhost:${wire.port}`) })
  await until(() => second.status().isWaiting)
  // It is ready to take the place, and does not count as a failure.
  await using health = await serveTunnelHealth(second, 0)
  expect((await fetch(`http://127.0.0.1:${health.port}/readyz`)).status).toBe(200)
  expect(second.status()).toMatchObject({ isOnline: false, failures: 0, problem: undefined })
  const answers: number[] = []
  const over = new AbortController()
  const calling = (async () => {
    while (!over.signal.aborted) answers.push((await call(scene.server, '/app-proxy/status?code=204')).status)
  })()
  await until(() => answers.length > 3)
  await first.close()
  await until(() => second.status().isOnline)
  const before = answers.length
  await until(() => answers.length > before + 3)
  over.abort()
  await calling
  expect(new Set(answers)).toEqual(new Set([204]))
  expect(second.status()).toMatchObject({ isWaiting: false, connections: 1 })
  const third = scene.startClient({ isStandby: true })
  await until(() => third.status().isWaiting)
  // A lost node sends no farewell.
  wire.cut()
  await until(() => third.status().isOnline)
  expect(await isAlive(scene)).toBe(true)
  // Without a client that waits, a call is refused at once.
  await second.close()
  await third.close()
  expect(await call(scene.server, '/app-proxy/status')).toMatchObject({ status: 503 })
})
