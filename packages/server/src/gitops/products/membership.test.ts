import { EnvironmentInput } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { componentOf, environmentOf, findOverlap, type NamedEnvironment, type Placed } from './membership.ts'
import { commonVersion, versionOf } from './versions.ts'

const environment = (name: string, ...clusters: object[]): NamedEnvironment => ({ ...EnvironmentInput.parse({ clusters }), name })
const placed = (given: Partial<Placed>): Placed => ({
  runtime: 'prod',
  namespace: 'argocd',
  name: 'shop',
  product: '',
  component: '',
  cluster: 'https://kubernetes.default.svc',
  clusterNamespace: 'shop',
  ...given,
})

test('an application belongs to the environment of its cluster and namespace', () => {
  const all = [
    environment('staging', { namespaces: ['shop-staging'] }),
    environment('eu', { runtime: 'eu', namespaces: ['shop'] }, { cluster: 'eu-2', namespaces: ['shop'] }),
    environment('far', { cluster: 'https://10.1.2.3:6443', namespaces: ['shop'] }),
  ]
  const nameOf = (given: Partial<Placed>): string | undefined => environmentOf(placed(given), all)?.name
  expect(nameOf({ clusterNamespace: 'shop-staging' })).toBe('staging')
  expect(nameOf({ clusterNamespace: 'shop-staging', cluster: 'in-cluster' })).toBe('staging')
  expect(nameOf({ clusterNamespace: 'shop-staging', cluster: 'eu-2' })).toBeUndefined()
  expect(nameOf({})).toBeUndefined()
  expect(nameOf({ runtime: 'eu' })).toBe('eu')
  expect(nameOf({ cluster: 'eu-2' })).toBe('eu')
  expect(nameOf({ cluster: 'https://10.1.2.3:6443/' })).toBe('far')
})

test('a namespace of one cluster belongs to one environment', () => {
  const others = [environment('staging', { runtime: 'prod', namespaces: ['a', 'b'] })]
  const overlap = (...clusters: object[]): string | undefined => findOverlap(environment('new', ...clusters), others)?.namespace
  expect(overlap({ namespaces: ['b', 'c'] })).toBe('b')
  expect(overlap({ runtime: 'prod', namespaces: ['a'] })).toBe('a')
  expect(overlap({ runtime: 'other', namespaces: ['a'] })).toBeUndefined()
  expect(overlap({ cluster: 'eu', namespaces: ['a'] })).toBeUndefined()
})

test('applications belong together by their label, or by their name without that of the environment', () => {
  expect(componentOf({ component: 'api', name: 'anything' }, 'staging')).toBe('api')
  expect(componentOf({ component: '', name: 'shop-api-staging' }, 'staging')).toBe('shop-api')
  expect(componentOf({ component: '', name: 'staging-shop-api' }, 'staging')).toBe('shop-api')
  expect(componentOf({ component: '', name: 'shop-api' }, 'staging')).toBe('shop-api')
})

test('a version is the tag that all images have', () => {
  expect(versionOf(['registry.test:5000/a:1.2', 'b:1.2@sha256:00'])).toBe('1.2')
  expect(versionOf(['a:1.2', 'b:1.3'])).toBeUndefined()
  expect(versionOf(['registry.test:5000/a'])).toBeUndefined()
  expect(versionOf([])).toBeUndefined()
  expect(commonVersion([{ version: '1' }, {}])).toBeUndefined()
})
