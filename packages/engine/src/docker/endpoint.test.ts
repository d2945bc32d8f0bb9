import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { isFault, sha256 } from '@windlass/kit'
import { findEndpoint } from './endpoint.ts'

const folders: string[] = []

afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true })
})

function home(files: Readonly<Record<string, string>>): string {
  const folder = mkdtempSync(join(tmpdir(), 'home-'))
  folders.push(folder)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(join(folder, path, '..'), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

const meta = (host: string): string =>
  JSON.stringify({ Name: 'far', Endpoints: { docker: { Host: host, SkipTLSVerify: false } } })
const id = sha256('far')

test('defaults to the local socket', () => {
  expect(findEndpoint({ HOME: home({}) })).toMatchObject({ kind: 'unix', path: '/var/run/docker.sock' })
})

test('prefers DOCKER_HOST, with or without TLS', () => {
  expect(findEndpoint({ DOCKER_HOST: 'unix:///run/other.sock' })).toMatchObject({ kind: 'unix', path: '/run/other.sock' })
  expect(findEndpoint({ DOCKER_HOST: 'tcp://10.0.0.7' })).toMatchObject({ host: '10.0.0.7', port: 2375, tls: undefined })
  const certificates = home({ 'ca.pem': 'CA', 'cert.pem': 'CERT', 'key.pem': 'KEY' })
  const secure = findEndpoint({
    DOCKER_HOST: 'tcp://[::1]:1300',
    DOCKER_TLS_VERIFY: '1',
    DOCKER_CERT_PATH: certificates,
    DOCKER_TLS_SERVER_NAME: 'dind',
  })
  expect(secure).toMatchObject({
    host: '::1',
    port: 1300,
    tls: { ca: 'CA', cert: 'CERT', key: 'KEY', verify: true, serverName: 'dind' },
  })
  expect(findEndpoint({ DOCKER_HOST: 'tcp://h', DOCKER_CERT_PATH: certificates })).toMatchObject({
    port: 2376,
    tls: { verify: false },
  })
})

test('uses the current context or DOCKER_CONTEXT', () => {
  const files = {
    '.docker/config.json': JSON.stringify({ currentContext: 'far' }),
    [`.docker/contexts/meta/${id}/meta.json`]: meta('tcp://far.example.com:2376'),
    [`.docker/contexts/tls/${id}/docker/ca.pem`]: 'CA',
  }
  const current = findEndpoint({ HOME: home(files) })
  expect(current).toMatchObject({ host: 'far.example.com', port: 2376, tls: { ca: 'CA', verify: true } })
  expect(findEndpoint({ HOME: home(files), DOCKER_CONTEXT: 'default' })).toMatchObject({ kind: 'unix' })
})

test('rejects an invalid address or context with a hint', () => {
  const refusal = (env: Record<string, string>): unknown => {
    try {
      return findEndpoint(env)
    } catch (error) {
      return isFault(error, 'config-invalid') ? error.hint : error
    }
  }
  expect(refusal({ DOCKER_HOST: 'ssh://me@host' })).toContain('unix:///path')
  expect(refusal({ HOME: home({}), DOCKER_CONTEXT: 'nowhere' })).toContain('docker context ls')
})
