import fc from 'fast-check'
import { expect, test } from 'vitest'
import { HOSTILE_TARGETS } from '../test/support/hostile-targets.ts'
import { LABEL, routeOf, serviceOf, type Route } from './routes.ts'

const RULES = { hasWorkflows: true, namespaces: ['ns'] }
const ANY_NAMESPACE = { hasWorkflows: true }

test.each<[string, Route]>([
  ['/app-proxy', { to: 'app-proxy', path: '/app-proxy' }],
  ['/app-proxy/api/graphql?q=../..', { to: 'app-proxy', path: '/app-proxy/api/graphql?q=../..' }],
  ['/app-proxy/a%2Fb//c', { to: 'app-proxy', path: '/app-proxy/a%2Fb//c' }],
  ['/app-proxy/..a/b..', { to: 'app-proxy', path: '/app-proxy/..a/b..' }],
  ['/workflows', { to: 'redirect', location: '/workflows/' }],
  ['/workflows?x=1', { to: 'redirect', location: '/workflows/?x=1' }],
  ['/workflows/', { to: 'workflows', path: '/' }],
  ['/workflows/?x=1', { to: 'workflows', path: '/?x=1' }],
  ['/workflows/api/v1/info?x=//', { to: 'workflows', path: '/api/v1/info?x=//' }],
  ['/webhooks/ns/name', { to: 'event-source', path: '/webhooks/ns/name', namespace: 'ns', name: 'name' }],
  ['/webhooks/ns/name/push?a=%2f', { to: 'event-source', path: '/webhooks/ns/name/push?a=%2f', namespace: 'ns', name: 'name' }],
  ['/webhooks/%6es/n-1', { to: 'event-source', path: '/webhooks/%6es/n-1', namespace: 'ns', name: 'n-1' }],
  ['/readyz', { to: 'readyz' }],
  ['/healthz?x', { to: 'healthz' }],
])('%s has its route', (target, route) => {
  expect(routeOf(target, RULES)).toEqual(route)
})

test.each(HOSTILE_TARGETS)('%s leads nowhere', (target) => {
  expect(routeOf(target, RULES)).toBeUndefined()
})

test('there are enough hostile targets, each once', () => {
  expect(new Set(HOSTILE_TARGETS).size).toBe(HOSTILE_TARGETS.length)
  expect(HOSTILE_TARGETS.length).toBeGreaterThan(60)
})

test('workflows lead nowhere unless they are enabled, and all namespaces count without a list', () => {
  expect(routeOf('/workflows/', { hasWorkflows: false })).toBeUndefined()
  expect(routeOf('/webhooks/other/name', ANY_NAMESPACE)).toMatchObject({ namespace: 'other' })
})

/** Parts that paths are made of, so that random ones are hostile. */
const PARTS = [
  '/',
  '\\',
  '.',
  '..',
  ';',
  '%2e',
  '%2E',
  '%252e',
  '%2f',
  '%5c',
  '%00',
  '%',
  '?',
  '#',
  'app-proxy',
  'workflows',
  'webhooks',
  'ns',
  'name',
  'A',
]
const targets = fc
  .tuple(
    fc.constantFrom('/', '/app-proxy/', '/workflows/', '/webhooks/', '/webhooks/ns/', '/webhooks/ns/name/'),
    fc.array(fc.oneof(fc.constantFrom(...PARTS), fc.string({ maxLength: 3 })), { maxLength: 8 }),
  )
  .map(([start, parts]) => start + parts.join(''))

/** Reads a path as a server does that resolves dot segments, also encoded ones, after it has decoded the path this many times. */
function resolved(target: string, decodings: number): string {
  let path = target.split('?')[0] ?? ''
  for (let n = 0; n < decodings; n += 1)
    path = path.replaceAll(/%2e/gi, '.').replaceAll(/%2f/gi, '/').replaceAll(/%5c/gi, '\\').replaceAll('%25', '%')
  return new URL(`http://service${path}`).pathname
}

test('no path of a service leaves its prefix when the service resolves it, decoded or not', () => {
  fc.assert(
    fc.property(targets, (target) => {
      const route = routeOf(target, ANY_NAMESPACE)
      if (route?.to !== 'app-proxy' && route?.to !== 'event-source') return
      const prefix = target
        .split(/[/?]/)
        .slice(0, route.to === 'app-proxy' ? 2 : 4)
        .join('/')
      expect(route.path).toBe(target)
      for (const decodings of [0, 1]) expect(`${resolved(target, decodings)}/`.startsWith(`${prefix}/`)).toBe(true)
    }),
    { numRuns: 2_000 },
  )
})

test('the names of a webhook are labels of DNS, whatever the path, and no other name has a route', () => {
  const names = fc.oneof(
    fc.string({ maxLength: 70 }),
    fc.stringMatching(/^[a-z0-9-]{1,70}$/),
    fc.constantFrom('.', '..', 'a.b', 'a/b', '\u00e4', 'NS'),
  )
  fc.assert(
    fc.property(names, names, fc.boolean(), (namespace, name, isEncoded) => {
      const write = isEncoded ? encodeFully : encodeURIComponent
      const route = routeOf(`/webhooks/${write(namespace)}/${write(name)}`, ANY_NAMESPACE)
      const areLabels = LABEL.test(namespace) && LABEL.test(name) && serviceOf(name).length <= 63
      if (areLabels) expect(route).toMatchObject({ to: 'event-source', namespace, name })
      else expect(route).toBeUndefined()
    }),
    { numRuns: 2_000 },
  )
})

function encodeFully(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => `%${byte.toString(16).padStart(2, '0')}`).join('')
}

test('a path below workflows keeps what follows the prefix, and never begins with two slashes', () => {
  fc.assert(
    fc.property(targets, (target) => {
      const route = routeOf(target, ANY_NAMESPACE)
      if (route?.to !== 'workflows') return
      expect(`/workflows${route.path}`).toBe(target)
      for (const decodings of [0, 1]) expect(resolved(route.path, decodings)).not.toMatch(/^\/\//)
    }),
    { numRuns: 2_000 },
  )
})
