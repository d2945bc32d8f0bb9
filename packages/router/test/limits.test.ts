/** Limits of a router, its health, its metrics and its end. */
import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { buffer } from 'node:stream/consumers'
import { systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { WebSocket } from 'ws'
import { begin, call, codeOf, until } from '../../tunnel/test/support/scene.ts'
import { serveRouterMetrics } from '../src/index.ts'
import { callsOf, openRouterScene } from './support/router-scene.ts'

async function answerOf(request: http.ClientRequest): Promise<IncomingMessage> {
  request.on('error', () => undefined).end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  return response.on('error', () => undefined)
}

test('calls above the limit get 503 that pages can read, probes do not count, and an end makes room (O020)', async () => {
  await using scene = await openRouterScene({ CALLS: '2' })
  const held = [begin(scene, '/app-proxy/events'), begin(scene, '/workflows/events')]
  for (const request of held) await answerOf(request)
  const headers = { origin: 'https://ui.example' }
  const refused = await call(scene, '/app-proxy/echo', { headers })
  expect([refused.status, codeOf(refused), refused.headers['retry-after']]).toEqual([503, 'router-full', '5'])
  expect(refused.headers['access-control-allow-origin']).toBe('https://ui.example')
  expect((await call(scene, '/webhooks/ns/name/echo')).status).toBe(503)
  expect((await call(scene, '/readyz')).status).toBe(200)
  expect((await call(scene, '/nowhere')).status).toBe(404)
  for (const request of held) request.destroy()
  await until(async () => (await call(scene, '/app-proxy/status?code=204')).status === 204)
})

test('a call without any bytes for too long ends with 504, and one with some does not (O020)', async () => {
  await using scene = await openRouterScene({}, { idleMs: 600 })
  const response = await answerOf(begin(scene, '/app-proxy/events'))
  let text = ''
  response.on('data', (chunk: Buffer) => {
    text += String(chunk)
  })
  const silent = await Promise.all([
    call(scene, '/app-proxy/silent', { headers: { origin: 'https://ui.example' } }),
    (async () => {
      for (let n = 0; n < 8; n += 1) {
        scene.appProxy.send(String(n))
        await systemClock.sleep(150)
      }
    })(),
  ])
  expect([silent[0].status, codeOf(silent[0])]).toEqual([504, 'router-silent'])
  expect(silent[0].headers['access-control-allow-origin']).toBe('https://ui.example')
  expect(text).toContain('data: 7')
  await until(() => response.closed)
})

test('a WebSocket without any bytes for too long ends on both sides (O020)', async () => {
  await using scene = await openRouterScene({}, { idleMs: 300 })
  const socket = new WebSocket(`ws://127.0.0.1:${scene.port}/app-proxy/ws`).on('error', () => undefined)
  await once(socket, 'open')
  const [code] = (await once(socket, 'close')) as [number]
  expect(code).toBe(1006)
  await until(() => scene.appProxy.left.includes('/app-proxy/ws 1006'))
})

test('a caller that does not read its answer loses its connection', async () => {
  await using scene = await openRouterScene({}, { idleMs: 60_000, callerIdleMs: 500 })
  const socket = connect(scene.port, '127.0.0.1')
  socket.on('error', () => undefined).pause()
  socket.write('GET /app-proxy/big?bytes=100000000 HTTP/1.1\r\nhost: runtime.example.com\r\n\r\n')
  await until(() => scene.appProxy.left.includes('/app-proxy/big'))
  await until(() => callsOf(scene.router) === 0)
  socket.destroy()
})

test('a router that stops is not ready, ends its calls, and then accepts none', async () => {
  await using scene = await openRouterScene({}, { lingerMs: 300, drainMs: 60_000 })
  const events = await answerOf(begin(scene, '/app-proxy/events'))
  const agent = new http.Agent({ keepAlive: true })
  expect((await call(scene, '/readyz', { agent })).status).toBe(200)
  const closing = scene.router.close()
  const late = await call(scene, '/readyz', { agent })
  expect([late.status, late.text, late.headers.connection]).toEqual([503, 'the router stops', 'close'])
  expect((await call(scene, '/healthz')).status).toBe(200)
  // Kubernetes leads calls here for a moment.
  expect((await call(scene, '/app-proxy/status?code=204')).status).toBe(204)
  await until(() =>
    call(scene, '/healthz').then(
      () => false,
      () => true,
    ),
  )
  const arrived = once(events, 'data') as Promise<[Buffer]>
  scene.appProxy.send('last')
  expect(String((await arrived)[0])).toBe('data: last\n\n')
  const ended = buffer(events)
  await scene.appProxy.stop()
  await ended.catch(() => undefined)
  await closing
  agent.destroy()
})

test('calls that do not end in time are broken off when the router stops', async () => {
  await using scene = await openRouterScene({}, { lingerMs: 100, drainMs: 400 })
  const events = await answerOf(begin(scene, '/app-proxy/events'))
  const socket = new WebSocket(`ws://127.0.0.1:${scene.port}/app-proxy/ws`).on('error', () => undefined)
  await once(socket, 'open')
  const ends = Promise.all([buffer(events).catch(() => 'broken'), once(socket, 'close')])
  await scene.router.close()
  expect((await ends)[0]).toBe('broken')
  await until(() => scene.appProxy.left.includes('/app-proxy/events'))
  await until(() => scene.appProxy.left.includes('/app-proxy/ws 1006'))
})

test('metrics have the calls by service and outcome, the bytes and the questions to name servers', async () => {
  await using scene = await openRouterScene()
  await using metrics = await serveRouterMetrics(scene.router, 0)
  await call(scene, '/app-proxy/count', { method: 'POST', body: 'twelve bytes' })
  await call(scene, '/webhooks/ns/name/length')
  await call(scene, '/webhooks/ns/absent')
  await call(scene, '/app-proxy/drop')
  await call(scene, '/nowhere')
  await until(() => callsOf(scene.router) === 0)
  const get = async (path: string): Promise<[number, string]> => {
    const answer = await fetch(`http://127.0.0.1:${metrics.port}${path}`)
    return [answer.status, await answer.text()]
  }
  const [, text] = await get('/metrics')
  for (const line of [
    'windlass_router_calls 0',
    'windlass_router_calls_total{service="app-proxy",outcome="answered"} 1',
    'windlass_router_calls_total{service="app-proxy",outcome="broken"} 1',
    'windlass_router_calls_total{service="event-source",outcome="answered"} 1',
    'windlass_router_calls_total{service="event-source",outcome="not-found"} 1',
    'windlass_router_calls_total{service="none",outcome="not-found"} 1',
    'windlass_router_bytes_total{direction="from-caller"} 12',
    'windlass_router_bytes_total{direction="to-caller"} 1002',
    'windlass_router_lookups_total{result="found"} 1',
    'windlass_router_lookups_total{result="absent"} 1',
  ])
    expect(text).toContain(`${line}\n`)
  expect((await get('/readyz'))[0]).toBe(200)
  await scene.router.close()
  expect((await get('/readyz'))[0]).toBe(503)
  expect((await get('/healthz'))[0]).toBe(200)
  // Callers do not get them.
  expect((await get('/app-proxy'))[0]).toBe(404)
})
