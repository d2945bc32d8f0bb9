import { expect, test } from 'vitest'
import { withOwnCookies } from './cookies.ts'

const HOST = 'a-prod.tunnels.example.com'

test.each([
  ['a=1', 'a=1'],
  ['a=1; Path=/; Secure; HttpOnly', 'a=1; Path=/; Secure; HttpOnly'],
  ['a=1; Domain=tunnels.example.com; Path=/', 'a=1; Path=/'],
  ['a=1; Path=/; domain=.Example.COM', 'a=1; Path=/'],
  ['a=1;DOMAIN = com ;Secure', 'a=1;Secure'],
  ['a=1; Domain=tunnels.example.com.', 'a=1'],
  ['a=1; Domain=%74unnels.example.com', 'a=1'],
  ['a=1; Domain="tunnels.example.com"', 'a=1'],
  ['a=1; Domain=a-other.tunnels.example.com', 'a=1'],
  ['a=1; Domain=example.com; Domain=tunnels.example.com', 'a=1'],
  ['a="; Domain=example.com; b="', 'a="; b="'],
  ['a=1; Domain', 'a=1'],
  [`a=1; Domain=${HOST}; Secure`, `a=1; Domain=${HOST}; Secure`],
  ['a=1; Domain=.A-Prod.tunnels.example.com', 'a=1; Domain=.A-Prod.tunnels.example.com'],
  ['domain=example.com; Path=/', 'domain=example.com; Path=/'],
])('%s crosses as %s', (given, expected) => {
  expect(withOwnCookies({ 'set-cookie': [given, 'b=2'] }, HOST)).toEqual({ 'set-cookie': [expected, 'b=2'] })
})

test('an answer without cookies stays as it is', () => {
  expect(withOwnCookies({ domain: 'example.com' }, HOST)).toEqual({ domain: 'example.com' })
})
