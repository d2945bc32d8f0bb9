/** Which service gets which call, over real sockets. */
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { manualClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { begin, call, codeOf, type Called } from '../../tunnel/test/support/scene.ts'
import { startService } from '../../tunnel/test/support/service.ts'
import { HOSTILE_TARGETS } from './support/hostile-targets.ts'
import { hostOf, openRouterScene } from './support/router-scene.ts'

const targetOf = ({ text: body }: Called): string => (JSON.parse(body) as { target: string }).target

/** Sends a request target as it is, which clients would change or refuse. Returns the status. */
async function statusOf(port: number, target: string): Promise<number> {
  const socket = connect(port, '127.0.0.1')
  socket.write(`GET ${target} HTTP/1.1\r\nhost: runtime.example.com\r\nconnection: close\r\n\r\n`, 'latin1')
  return Number(/^HTTP\/1\.1 (\d{3})/.exec(await text(socket))?.[1])
}

test('each prefix leads to its service: app-proxy with it, workflows without it, webhooks by name, all others nowhere (O020)', async () => {
  await using scene = await openRouterScene()
  const { port, appProxy, workflows, eventSource } = scene
  expect(targetOf(await call(scene, '/app-proxy/echo?q=%20x'))).toBe('/app-proxy/echo?q=%20x')
  expect(targetOf(await call(scene, '/workflows/echo?q=1'))).toBe('/echo?q=1')
  expect(targetOf(await call(scene, '/webhooks/ns/name/echo?q=1'))).toBe('/webhooks/ns/name/echo?q=1')
  expect([appProxy.seen, workflows.seen, eventSource.seen]).toEqual([['/app-proxy/echo'], ['/echo'], ['/webhooks/ns/name/echo']])
  for (const method of ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'PROPFIND']) {
    const { text: body } = await call(scene, '/app-proxy/echo', { method })
    expect(JSON.parse(body)).toMatchObject({ method, target: '/app-proxy/echo' })
  }
  const redirect = await call(scene, '/workflows?x=1')
  expect([redirect.status, redirect.headers.location]).toEqual([308, '/workflows/?x=1'])
  for (const path of ['/readyz', '/healthz']) {
    const { status, text: body } = await call(scene, path)
    expect([path, status, body]).toEqual([path, 200, 'ok'])
  }
  expect((await call(scene, '/healthz', { method: 'HEAD' })).status).toBe(200)
  const count = scene.seen().length
  for (const path of ['/', '/metrics', '/app-proxyx', '/workflowsx', '/webhooks/ns', '/api/v1/x']) {
    const answer = await call(scene, path, { headers: { origin: 'https://ui.example' } })
    expect([path, answer.status, codeOf(answer)]).toEqual([path, 404, 'not-found'])
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin')
  }
  expect(scene.seen()).toHaveLength(count)
  expect(port).toBe(scene.router.port)
})

test('workflows lead nowhere unless they are enabled (O020)', async () => {
  await using scene = await openRouterScene({ WORKFLOWS_URL: '' })
  for (const path of ['/workflows', '/workflows/', '/workflows/echo']) expect((await call(scene, path)).status).toBe(404)
  expect(scene.workflows.seen).toEqual([])
})

test('while the app-proxy is down, pages can read the answer 502, and every OPTIONS gets 204 (O021)', async () => {
  await using scene = await openRouterScene()
  const { port } = scene.appProxy
  await scene.appProxy.stop()
  const headers = { origin: 'https://ui.example' }
  const answer = await call(scene, '/app-proxy/api/graphql', { method: 'POST', body: '{}', headers })
  expect([answer.status, codeOf(answer)]).toEqual([502, 'router-service'])
  expect(answer.headers).toMatchObject({
    'access-control-allow-origin': 'https://ui.example',
    'access-control-allow-credentials': 'true',
    'retry-after': '5',
    vary: 'origin',
  })
  const asks = { ...headers, 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-access-token' }
  for (const given of [asks, headers]) {
    const allowed = await call(scene, '/app-proxy/api/graphql', { method: 'OPTIONS', headers: given })
    expect([allowed.status, allowed.text]).toEqual([204, ''])
    expect(allowed.headers).toMatchObject({
      'access-control-allow-origin': 'https://ui.example',
      'access-control-allow-methods': 'GET,HEAD,PUT,PATCH,POST,DELETE',
      // Not for the calls after it: an app-proxy that is back permits less.
      'access-control-max-age': '0',
    })
  }
  expect((await call(scene, '/readyz')).status).toBe(200)
  // The answers of the app-proxy itself are its own.
  await using again = await startService({ port })
  expect((await call(scene, '/app-proxy/status?code=502', { headers })).headers).not.toHaveProperty('access-control-allow-origin')
  expect((await call(scene, '/app-proxy/status?code=405', { method: 'OPTIONS', headers: asks })).status).toBe(405)
  expect(again.seen).toHaveLength(2)
})

test('an app-proxy that drops the call, or that has no address, is 502 with permissions as well (O021)', async () => {
  await using scene = await openRouterScene()
  const headers = { origin: 'https://ui.example' }
  const dropped = await call(scene, '/app-proxy/drop', { headers })
  expect([dropped.status, codeOf(dropped)]).toEqual([502, 'router-broken'])
  expect(dropped.headers['access-control-allow-origin']).toBe('https://ui.example')
  await using nameless = await openRouterScene({ APP_PROXY_URL: 'http://cap-app-proxy.invalid:3017' })
  const absent = await call(nameless, '/app-proxy/x', { headers })
  expect([absent.status, codeOf(absent)]).toEqual([502, 'router-service'])
})

test('a webhook reaches the Service of its event source with its body and signature, and gets its answer (O022)', async () => {
  await using scene = await openRouterScene()
  const headers = { 'x-hub-signature-256': 'sha256=abc', 'content-type': 'application/json', 'x-github-event': 'push' }
  const answer = await call(scene, '/webhooks/ns/name/echo', { method: 'POST', body: '{"ref":"main"}', headers })
  expect(answer.status).toBe(200)
  expect(JSON.parse(answer.text)).toMatchObject({ method: 'POST', body: '{"ref":"main"}', headers })
  expect(new Set(scene.names.asked)).toEqual(new Set(['name-eventsource-svc.ns.svc.cluster.local']))
  await scene.eventSource.stop()
  const down = await call(scene, '/webhooks/ns/name/echo', { method: 'POST', body: '{}' })
  expect([down.status, codeOf(down)]).toEqual([502, 'router-service'])
})

test('the name of an event source is asked for again when its answer is old, at the latest after 10 s (O022)', async () => {
  const clock = manualClock()
  await using scene = await openRouterScene({}, { clock, drainMs: 0 })
  const { names, eventSource } = scene
  await using moved = await startService({ host: '127.0.0.2', port: eventSource.port })
  const send = async (): Promise<number> => (await call(scene, '/webhooks/ns/name/status?code=204')).status
  names.set(hostOf('name'), ['127.0.0.1'], 60)
  expect(await send()).toBe(204)
  const asked = names.asked.length
  names.set(hostOf('name'), ['127.0.0.2'], 2)
  clock.advance(9_000)
  expect(await send()).toBe(204)
  expect([eventSource.seen.length, moved.seen.length, names.asked.length]).toEqual([2, 0, asked])
  clock.advance(1_500)
  expect(await send()).toBe(204)
  expect([eventSource.seen.length, moved.seen.length]).toEqual([2, 1])
  // From now on the TTL of the answer is the shorter one.
  names.set(hostOf('name'), ['127.0.0.1'])
  clock.advance(2_500)
  expect(await send()).toBe(204)
  expect([eventSource.seen.length, moved.seen.length]).toEqual([3, 1])
})

test('an event source that does not exist is 404, is found when it exists, and one whose name server fails is 502 (O022)', async () => {
  await using scene = await openRouterScene()
  const send = async (path: string): Promise<[number, string]> => {
    const answer = await call(scene, path)
    return [answer.status, answer.status === 204 ? '' : codeOf(answer)]
  }
  expect(await send('/webhooks/ns/later/status?code=204')).toEqual([404, 'not-found'])
  scene.names.set(hostOf('later'), ['127.0.0.1'])
  expect(await send('/webhooks/ns/later/status?code=204')).toEqual([204, ''])
  scene.names.fail(hostOf('broken'))
  expect(await send('/webhooks/ns/broken/status?code=204')).toEqual([502, 'router-service'])
})

test('hostile targets reach no service and no name server (O023)', async () => {
  await using scene = await openRouterScene({ WEBHOOK_NAMESPACES: 'ns' })
  const statuses = await Promise.all(HOSTILE_TARGETS.map(async (target) => [target, await statusOf(scene.port, target)]))
  // The parser of Node refuses some of them itself.
  for (const [target, status] of statuses) expect([target, [404, 400].includes(Number(status))]).toEqual([target, true])
  expect(statuses.filter(([, status]) => status === 404).length).toBeGreaterThan(100)
  expect([scene.seen(), scene.names.asked]).toEqual([[], []])
  // The same way of sending works for others.
  expect(await statusOf(scene.port, '/webhooks/ns/name/echo')).toBe(200)
})

test.each([
  ['127.0.0.1', '10.0.0.0/8'],
  ['169.254.169.254', ''],
  ['127.0.0.1', ''],
])('a name that leads to %s is refused with the networks "%s" (O023)', async (address, networks) => {
  await using scene = await openRouterScene({ WEBHOOK_NETWORKS: networks })
  scene.names.set(hostOf('name'), ['10.0.0.1', address])
  const answer = await call(scene, '/webhooks/ns/name/echo')
  expect([answer.status, codeOf(answer)]).toEqual([404, 'not-found'])
  expect(scene.seen()).toEqual([])
})

test('an address of IPv6 is checked as well (O023)', async () => {
  await using scene = await openRouterScene({ WEBHOOK_NETWORKS: '' })
  scene.names.set(hostOf('name'), ['fd00:ec2:0:0:0:0:0:254'])
  expect((await call(scene, '/webhooks/ns/name/echo')).status).toBe(404)
})

test('a redirect of a service goes to the caller and is not followed (O023)', async () => {
  await using scene = await openRouterScene()
  await using other = await startService()
  for (const path of ['/webhooks/ns/name/redirect', '/app-proxy/redirect', '/workflows/redirect']) {
    const answer = await call(scene, `${path}?to=${other.url.href}`)
    expect([answer.status, answer.headers.location]).toEqual([302, other.url.href])
  }
  expect(other.seen).toEqual([])
})

test('a webhook cannot switch protocols (O023)', async () => {
  await using scene = await openRouterScene()
  const request = begin(scene, '/webhooks/ns/name/ws', { headers: { connection: 'Upgrade', upgrade: 'websocket' } })
  request.end()
  const [response] = (await once(request, 'response')) as [IncomingMessage]
  expect(response.statusCode).toBe(404)
  expect(scene.eventSource.seen).toEqual([])
})
