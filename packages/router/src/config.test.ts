import { silentLog, systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { readRouterConfig, toRouterOptions } from './config.ts'
import type { RouterOptions } from './router.ts'

function optionsOf(env: Readonly<Record<string, string>>): RouterOptions {
  const prefixed = Object.fromEntries(Object.entries(env).map(([key, value]) => [`WINDLASS_ROUTER_${key}`, value]))
  return toRouterOptions(readRouterConfig(prefixed), { clock: systemClock, log: silentLog })
}

test('without settings a router is that of a runtime, without workflows, for all namespaces, and trusts no sender', () => {
  const options = optionsOf({})
  expect(options).toMatchObject({ port: 8080, calls: 1_000, idleMs: 300_000, drainMs: 25_000 })
  expect(options.appProxy.url.href).toBe('http://cap-app-proxy:3017/')
  expect(options.workflows).toBeUndefined()
  expect(options.eventSources).toMatchObject({ clusterDomain: 'cluster.local', port: 80, nameServers: [] })
  expect(options.eventSources.namespaces).toBeUndefined()
  expect(options.isTrusted('10.1.2.3')).toBe(false)
})

test('without networks, webhooks are not sent to loopback, link-local and metadata addresses', () => {
  const { isAllowed } = optionsOf({}).eventSources
  for (const address of ['10.96.0.1', '34.118.224.1', 'fd12::1']) expect([address, isAllowed(address)]).toEqual([address, true])
  for (const address of ['127.0.0.1', '::1', '169.254.169.254', '::ffff:169.254.169.254', 'fd00:ec2::254', '0.0.0.0', 'fe80::1'])
    expect([address, isAllowed(address)]).toEqual([address, false])
})

test('networks of webhooks and of trusted senders are addresses or ranges of both families', () => {
  const options = optionsOf({ WEBHOOK_NETWORKS: '10.96.0.0/12, fd00::/64', TRUSTED_PROXIES: '10.1.2.3' })
  const { isAllowed } = options.eventSources
  expect(['10.97.1.1', '::ffff:10.97.1.1', 'fd00::5'].map(isAllowed)).toEqual([true, true, true])
  expect(['10.1.1.1', '127.0.0.1', 'fd01::5', 'no address'].map(isAllowed)).toEqual([false, false, false, false])
  expect(['10.1.2.3', '::ffff:10.1.2.3', '10.1.2.4'].map(options.isTrusted)).toEqual([true, true, false])
})

test('networks of webhooks never contain metadata services, however large they are', () => {
  const { isAllowed } = optionsOf({ WEBHOOK_NETWORKS: '0.0.0.0/1, 128.0.0.0/1, ::/1, 8000::/1' }).eventSources
  for (const address of ['10.96.0.1', '127.0.0.1', 'fd12::1']) expect([address, isAllowed(address)]).toEqual([address, true])
  for (const address of ['169.254.169.254', '::ffff:169.254.169.254', '100.100.100.200', 'fd00:ec2::254', 'fe80::1'])
    expect([address, isAllowed(address)]).toEqual([address, false])
})

test.each([
  ['APP_PROXY_URL', 'cap-app-proxy:3017'],
  ['APP_PROXY_URL', 'http://cap-app-proxy:3017/path'],
  ['WORKFLOWS_URL', 'http://user:password@argo-server:2746'],
  ['WEBHOOK_NAMESPACES', 'ns,Not_One'],
  ['WEBHOOK_NETWORKS', '10.0.0.0/40'],
  ['TRUSTED_PROXIES', 'ingress'],
  ['DNS_SERVERS', 'kube-dns.kube-system'],
  ['CLUSTER_DOMAIN', 'cluster..local'],
  ['CALLS', '0'],
  ['PORT', '70000'],
])('%s=%s is refused', (key, value) => {
  expect(() => optionsOf({ [key]: value })).toThrow(`WINDLASS_ROUTER_${key}: `)
})

test('a certificate authority that cannot be read is refused', () => {
  expect(() => optionsOf({ CA_PATH: '/nowhere/ca.pem' })).toThrow('/nowhere/ca.pem cannot be read')
})
