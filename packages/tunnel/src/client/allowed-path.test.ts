import { expect, test } from 'vitest'
import { DEFAULT_PREFIXES, isAllowedPath } from './allowed-path.ts'

test.each([
  '/app-proxy',
  '/app-proxy/api/graphql?query=%7Bme%7D',
  '/workflows/',
  '/workflows/api/v1/log?x=../..',
  '/webhooks/ns/name',
  '/app-proxy/a%25b',
  '/app-proxy/100%2525',
  '/app-proxy/..a/b..',
])('forwards %s', (path) => {
  expect(isAllowedPath(path, DEFAULT_PREFIXES)).toBe(true)
})

test.each([
  '/',
  '/healthz',
  '/app-proxy2',
  '/App-Proxy',
  'app-proxy',
  'http://other.example/app-proxy',
  '//app-proxy',
  '/app-proxy/../metrics',
  '/app-proxy/%2e%2e/metrics',
  '/app-proxy/%252e%252e/metrics',
  '/app-proxy/%252e%252e/metrics%25ff',
  '/app-proxy/..%2fmetrics',
  '/app-proxy/..%5cmetrics',
  '/app-proxy/..\\metrics',
  '/app-proxy/./metrics',
  '/app-proxy/%zz',
])('refuses %s', (path) => {
  expect(isAllowedPath(path, DEFAULT_PREFIXES)).toBe(false)
})
