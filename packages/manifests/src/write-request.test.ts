import { execFileSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { readSignRequest } from './sign-request.ts'
import { newSignRequest } from './write-request.ts'

test('proves possession of its key, to us and to openssl', () => {
  const { key, csr } = newSignRequest('docker.codefresh.io')
  expect(readSignRequest(csr)).toHaveProperty('publicKey')
  const subject = execFileSync('openssl', ['req', '-verify', '-noout', '-subject'], { input: csr, encoding: 'utf8' })
  expect(subject).toContain('docker.codefresh.io')
  expect(key).toContain('BEGIN PRIVATE KEY')
})
