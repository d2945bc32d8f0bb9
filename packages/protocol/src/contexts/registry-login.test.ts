import { expect, test } from 'vitest'
import { readChallenge, registryHost, sharesDomain } from './registry-login.ts'

test('reads where a registry takes logins (E31)', () => {
  expect(readChallenge('Bearer realm="https://auth.docker.io/token",service="registry.docker.io"')).toEqual({
    realm: 'https://auth.docker.io/token',
    service: 'registry.docker.io',
  })
  expect(readChallenge('Basic realm="x", Bearer service="s",realm="https://a.test/t",scope="a b"')).toMatchObject({
    realm: 'https://a.test/t',
    service: 's',
  })
  for (const header of ['Basic realm="Registry Realm"', 'Bearer', '', undefined]) expect(readChallenge(header)).toBeUndefined()
})

test('a login goes only to hosts of the same owner (E31)', () => {
  const shares = (one: string, other: string): boolean => sharesDomain(new URL(`https://${one}`), new URL(`https://${other}`))
  expect(shares('auth.docker.io', 'registry-1.docker.io')).toBe(true)
  expect(shares('gitlab.com', 'registry.gitlab.com')).toBe(true)
  expect(shares('127.0.0.1:1', '127.0.0.1:2')).toBe(true)
  expect(shares('localhost', 'registry')).toBe(false)
  expect(shares('evil.test', 'registry.example.com')).toBe(false)
  expect(shares('169.254.169.254', '10.0.169.254')).toBe(false)
})

test('takes the host of a registry, and nothing with a path or a login (E31)', () => {
  expect(registryHost('docker.io')).toBe('registry-1.docker.io')
  for (const host of ['registry.example.com:5000', '10.0.0.1', '[::1]:5000', 'registry']) expect(registryHost(host)).toBe(host)
  for (const text of ['', 'a/b', 'u:p@host', 'host:port', 'https://host', 'host?x', 'ho st', 'host:99999'])
    expect([text, registryHost(text)]).toEqual([text, undefined])
})
