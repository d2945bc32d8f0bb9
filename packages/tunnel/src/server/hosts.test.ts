import { expect, test } from 'vitest'
import { isBelow, prefixOf } from './hosts.ts'

const DOMAIN = 'tunnels.example.com'

test.each([
  ['a-b.tunnels.example.com', 'a-b'],
  ['A-B.Tunnels.Example.com:8443', 'a-b'],
  ['a-b.tunnels.example.com.', 'a-b'],
  ['tunnels.example.com', undefined],
  ['.tunnels.example.com', undefined],
  ['a.b.tunnels.example.com', undefined],
  ['register.tunnels.example.com', undefined],
  ['a-btunnels.example.com', undefined],
  ['a-b.tunnels.example.com.evil.example', undefined],
  [`${'a'.repeat(64)}.tunnels.example.com`, undefined],
  [undefined, undefined],
])('the prefix of %s is %s', (host, prefix) => {
  expect(prefixOf(host, DOMAIN)).toBe(prefix)
})

test('only hosts below the domain belong to runtimes', () => {
  expect(isBelow('a.b.tunnels.example.com', DOMAIN)).toBe(true)
  expect(isBelow('register.tunnels.example.com:8443', DOMAIN)).toBe(false)
  expect(isBelow('127.0.0.1:8443', DOMAIN)).toBe(false)
})
