import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { readSignRequest } from './sign-request.ts'
import { newSignRequest } from './write-request.ts'

test('a request proves its key, to us and to openssl', () => {
  const { key, csr } = newSignRequest('docker.codefresh.io')
  expect(readSignRequest(csr)).toHaveProperty('publicKey')
  const told = execFileSync('openssl', ['req', '-verify', '-noout', '-subject'], { input: csr, encoding: 'utf8' })
  expect(told).toContain('docker.codefresh.io')
  expect(key).toContain('BEGIN PRIVATE KEY')
})
