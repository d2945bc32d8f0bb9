import { expect, test } from 'vitest'
import { proxyFrom, proxyOf } from './proxy.ts'

const of = (url: string, env: Record<string, string>): string | undefined => proxyOf(new URL(url), proxyFrom(env))
const both = { HTTP_PROXY: 'http://p:1', HTTPS_PROXY: 'http://q:2' }

test('reads HTTP_PROXY and HTTPS_PROXY in both cases, prefers lower case, and applies each to its scheme (R061)', () => {
  expect(of('http://a.example', both)).toBe('http://p:1')
  expect(of('https://a.example', both)).toBe('http://q:2')
  expect(of('https://a.example', { https_proxy: 'http://small:3', ...both })).toBe('http://small:3')
  expect(of('https://a.example', { HTTP_PROXY: 'http://p:1' })).toBeUndefined()
  expect(of('http://a.example', { http_proxy: 'p:1' })).toBe('http://p:1')
})

test.each([
  ['exact.example', 'https://exact.example/x'],
  ['example.com', 'https://deep.example.com'],
  ['.example.com', 'https://deep.example.com'],
  ['*.example.com', 'https://deep.example.com'],
  ['10.0.0.0/8,192.168.0.0/16', 'https://10.20.30.40:6443'],
  ['fd00::/8', 'https://[fd00::1]'],
  ['10.1.2.3', 'http://10.1.2.3'],
  ['a.example:8443', 'https://a.example:8443'],
  ['*', 'https://anything.example'],
])('NO_PROXY=%s excludes %s from the proxy (R061)', (list, url) => {
  expect(of(url, { ...both, NO_PROXY: list })).toBeUndefined()
  expect(of(url, { ...both, no_proxy: list })).toBeUndefined()
})

test.each([
  ['example.com', 'https://notexample.com'],
  ['.example.com', 'https://example.com'],
  ['10.0.0.0/8', 'https://11.0.0.1'],
  ['a.example:8443', 'https://a.example'],
])('NO_PROXY=%s does not exclude %s', (list, url) => {
  expect(of(url, { ...both, NO_PROXY: list })).toBe('http://q:2')
})

test('calls to this machine, services of the cluster, its API server and metadata services of clouds are always direct', () => {
  const env = { ...both, KUBERNETES_SERVICE_HOST: '10.96.0.1' }
  const urls = ['http://127.0.0.1:80', 'http://localhost', 'http://[::1]', 'https://10.96.0.1', 'http://dind.builds.svc:1300']
  urls.push('http://169.254.169.254/latest', 'http://[fd00:ec2::23]/v1/credentials', 'http://metadata.google.internal')
  expect(urls.map((url) => of(url, env))).toEqual(urls.map(() => undefined))
})

test('an error about an unsupported proxy names the variable but not its value', () => {
  expect(() => proxyFrom({ HTTPS_PROXY: 'socks4://user:secret@p:1' })).toThrow(
    'HTTPS_PROXY is not the URL of an HTTP or SOCKS 5 proxy.',
  )
  expect(() => proxyFrom({ ALL_PROXY: 'ftp://p:1' })).toThrow('ALL_PROXY is not the URL of an HTTP or SOCKS 5 proxy.')
})

test('ignores ALL_PROXY if it is not used', () => {
  const env = { ALL_PROXY: 'socks4://p:1', HTTP_PROXY: 'http://q:1', HTTPS_PROXY: 'http://q:2' }
  expect(proxyFrom(env)).toMatchObject({ http: 'http://q:1', https: 'http://q:2' })
})

test('accepts SOCKS 5 proxies, and ALL_PROXY for a scheme without a proxy (R061)', () => {
  expect(of('https://a.example', { HTTPS_PROXY: 'socks5://user:secret@p:1080' })).toBe('socks5://user:secret@p:1080')
  const env = { ALL_PROXY: 'socks5h://p:1080', http_proxy: 'http://q:1', no_proxy: 'near.example' }
  expect(of('https://a.example', env)).toBe('socks5h://p:1080')
  expect(of('http://a.example', env)).toBe('http://q:1')
  expect(of('https://near.example', env)).toBeUndefined()
})
