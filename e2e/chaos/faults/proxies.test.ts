import http from 'node:http'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeTransport } from '@windlass/kit'
import { expect, test } from 'vitest'
import { openHttpProxy, type Verdict } from './http-proxy.ts'
import { seededRandom } from './random.ts'
import { openTcpProxy, type NetworkFaults } from './tcp-proxy.ts'

interface Echo extends AsyncDisposable {
  readonly port: number
  readonly bodies: string[]
}

/** Responds to every request with its own body, twice `<body>`. */
async function openEcho(listen: { port: number } | { socketPath: string } = { port: 0 }): Promise<Echo> {
  const bodies: string[] = []
  const server = http.createServer((request, response) => {
    let body = ''
    request.on('data', (part: Buffer) => (body += part.toString()))
    request.on('end', () => {
      bodies.push(body)
      response.end(body + body)
    })
  })
  server.on('upgrade', (_request, socket) => {
    socket.write('HTTP/1.1 101 Switching\r\nconnection: upgrade\r\nupgrade: tcp\r\n\r\n')
    socket.pipe(socket)
  })
  const { promise, resolve } = Promise.withResolvers<void>()
  if ('socketPath' in listen) server.listen(listen.socketPath, resolve)
  else server.listen(listen.port, '127.0.0.1', resolve)
  await promise
  const address = server.address()
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    bodies,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((closed) => server.close(closed))
    },
  }
}

async function post(port: number, body: string): Promise<string> {
  // Without a time limit: a call that ends before its answer would look like one that a proxy has cut.
  const answer = await nodeTransport()({ method: 'POST', url: `http://127.0.0.1:${port}/x`, headers: {}, body })
  return `${answer.status} ${await answer.text()}`
}

const verdicts: { verdict: Verdict; answer: string | undefined; seen: number }[] = [
  { verdict: { kind: 'pass' }, answer: '200 hihi', seen: 1 },
  { verdict: { kind: 'repeat', times: 2 }, answer: '200 hihi', seen: 3 },
  { verdict: { kind: 'cut-reply' }, answer: undefined, seen: 1 },
  { verdict: { kind: 'lose' }, answer: undefined, seen: 0 },
  { verdict: { kind: 'answer', status: 503 }, answer: '503 {"message":"refused by the fault proxy"}', seen: 0 },
]

for (const { verdict, answer, seen } of verdicts) {
  test(`the HTTP proxy applies ${verdict.kind}: the target receives the request ${seen} times`, async () => {
    await using echo = await openEcho()
    await using proxy = await openHttpProxy({ target: () => echo, decide: () => verdict })
    expect(await post(proxy.port, 'hi').catch(() => undefined)).toBe(answer)
    expect(echo.bodies).toEqual(Array.from({ length: seen }, () => 'hi'))
    expect(proxy.counts[verdict.kind]).toBe(1)
  })
}

test('the HTTP proxy forwards an upgraded connection over unix sockets', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'proxy-'))
  const paths = { target: join(folder, 'target.sock'), proxy: join(folder, 'proxy.sock') }
  {
    await using echo = await openEcho({ socketPath: paths.target })
    await using proxy = await openHttpProxy({
      target: () => ({ socketPath: paths.target }),
      listen: { socketPath: paths.proxy },
      decide: () => ({ kind: 'pass' }),
    })
    const { promise, resolve, reject } = Promise.withResolvers<string>()
    const call = http.request({ socketPath: paths.proxy, headers: { connection: 'Upgrade', upgrade: 'tcp' } })
    call.once('error', reject)
    call.once('upgrade', (_response, socket) => {
      socket.once('data', (data: Buffer) => {
        socket.destroy()
        resolve(data.toString())
      })
      socket.write('ping')
    })
    call.end()
    expect(await promise).toBe('ping')
    expect(proxy.counts.calls).toBe(1)
    expect(echo.bodies).toEqual([])
  }
  await rm(folder, { recursive: true })
})

test('the TCP proxy connects to the next target if one is dead', async () => {
  await using echo = await openEcho()
  await using proxy = await openTcpProxy({ targets: () => [1, echo.port], random: seededRandom(1) })
  for (let n = 0; n < 4; n += 1) expect(await post(proxy.port, 'a')).toBe('200 aa')
})

const cases: { name: string; faults: Partial<NetworkFaults>; works: boolean; counted: 'drops' | 'delays' | 'stalls' }[] = [
  { name: 'drops a connection', faults: { drop: 1 }, works: false, counted: 'drops' },
  { name: 'delays bytes and loses none', faults: { delay: 1, delayMs: [5, 10] }, works: true, counted: 'delays' },
  {
    name: 'leaves a connection half open and then cuts it',
    faults: { stall: 1, stallMs: [50, 60] },
    works: false,
    counted: 'stalls',
  },
]

for (const { name, faults, works, counted } of cases) {
  test(`the TCP proxy ${name}`, async () => {
    await using echo = await openEcho()
    await using proxy = await openTcpProxy({ targets: () => [echo.port], random: seededRandom(1) })
    proxy.faults = { ...proxy.faults, ...faults }
    const answer = await post(proxy.port, 'b').catch(() => undefined)
    expect(answer).toBe(works ? '200 bb' : undefined)
    expect(proxy.counts[counted]).toBeGreaterThan(0)
  })
}

test('the TCP proxy refuses connections while the network is partitioned', async () => {
  await using echo = await openEcho()
  await using proxy = await openTcpProxy({ targets: () => [echo.port], random: seededRandom(1) })
  proxy.partition()
  expect(await post(proxy.port, 'c').catch(() => undefined)).toBeUndefined()
  proxy.heal()
  expect(await post(proxy.port, 'c')).toBe('200 cc')
})
