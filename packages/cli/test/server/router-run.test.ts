/** `windlass router run` as a process, with a service and a name server. */
import { once } from 'node:events'
import http, { type IncomingMessage } from 'node:http'
import { expect, onTestFinished, test } from 'vitest'
import { freePort, startService as startProcess } from '../../../../e2e/support/process.ts'
import { WINDLASS } from '../../../../e2e/support/programs.ts'
import { startNameServer } from '../../../router/test/support/name-server.ts'
import { hostOf } from '../../../router/test/support/router-scene.ts'
import { startService } from '../../../tunnel/test/support/service.ts'

test('router run routes by options and variables, serves metrics, ends its calls on SIGTERM, and refuses wrong settings (O020, O022)', async () => {
  await using appProxy = await startService()
  await using eventSource = await startService()
  await using names = await startNameServer()
  names.set(hostOf('name'), ['127.0.0.1'])
  const [port, metricsPort] = [await freePort(), await freePort()]
  const line = `router run --port ${port} --metrics-port ${metricsPort} --app-proxy-url ${appProxy.url.href} --webhook-namespaces ns`
  const router = await startProcess({
    command: WINDLASS,
    args: line.split(' '),
    env: {
      WINDLASS_ROUTER_WEBHOOK_PORT: String(eventSource.port),
      WINDLASS_ROUTER_WEBHOOK_NETWORKS: '127.0.0.0/8',
      WINDLASS_ROUTER_DNS_SERVERS: names.address,
    },
    ready: (log) => log.includes('the router listens'),
  })
  onTestFinished(() => router.stop('SIGKILL'))
  const get = async (path: string, at = port): Promise<number> => (await fetch(`http://127.0.0.1:${at}${path}`)).status
  expect(await get('/app-proxy/status?code=204')).toBe(204)
  expect(await get('/webhooks/ns/name/status?code=204')).toBe(204)
  expect(await get('/webhooks/other/name/status?code=204')).toBe(404)
  expect(await get('/workflows/')).toBe(404)
  expect(await get('/metrics')).toBe(404)
  const metrics = await (await fetch(`http://127.0.0.1:${metricsPort}/metrics`)).text()
  expect(metrics).toContain('windlass_router_calls_total{service="event-source",outcome="answered"} 1\n')
  const request = http.request({ host: '127.0.0.1', port, path: '/app-proxy/events', agent: false })
  request.end()
  const [events] = (await once(request, 'response')) as [IncomingMessage]
  router.signal('SIGTERM')
  await expect.poll(() => get('/readyz', metricsPort)).toBe(503)
  const arrived = once(events, 'data') as Promise<[Buffer]>
  appProxy.send('last')
  expect(String((await arrived)[0])).toBe('data: last\n\n')
  request.on('error', () => undefined).destroy()
  expect(await router.ended()).toBe(0)
  const wrong = startProcess({
    command: WINDLASS,
    args: ['router', 'run', '--app-proxy-url', 'cap-app-proxy'],
    ready: () => false,
  })
  await expect(wrong).rejects.toThrow(/must be an http:\/\/ or https:\/\/ URL \(--app-proxy-url\)/)
})
