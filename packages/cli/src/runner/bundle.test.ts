import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hideSecrets, hideTokens } from './bundle.ts'
import { toTar } from './tar.ts'

test('hides values with secret names, but not references to Secrets (R210)', () => {
  const pod = {
    env: [
      { name: 'API_TOKEN', value: 'abc' },
      { name: 'HOME', value: '/root' },
      { name: 'FROM', valueFrom: { secretKeyRef: { name: 'runner', key: 'token' } } },
    ],
    volumes: [{ secret: { secretName: 'runnerconf' } }],
    password: 'p',
    managedFields: [{}],
  }
  expect(hideSecrets(pod)).toEqual({
    env: [
      { name: 'API_TOKEN', value: '[hidden]' },
      { name: 'HOME', value: '/root' },
      { name: 'FROM', valueFrom: { secretKeyRef: { name: 'runner', key: 'token' } } },
    ],
    volumes: [{ secret: { secretName: 'runnerconf' } }],
    password: '[hidden]',
  })
})

test('hides the logins of proxies in environments and in data, also without a scheme (R210)', () => {
  const hidden = hideSecrets({
    env: [
      { name: 'HTTPS_PROXY', value: 'robot:S3CRET@proxy:3128' },
      { name: 'all_proxy', value: 'socks5://robot:S3C/RET@proxy' },
      { name: 'NO_PROXY', value: '10.0.0.0/8,.svc' },
    ],
    data: { HTTP_PROXY: 'http://robot:S3CRET@proxy:3128' },
  })
  expect(hidden).toEqual({
    env: [
      { name: 'HTTPS_PROXY', value: '*****@proxy:3128' },
      { name: 'all_proxy', value: 'socks5://*****@proxy' },
      { name: 'NO_PROXY', value: '10.0.0.0/8,.svc' },
    ],
    data: { HTTP_PROXY: 'http://*****@proxy:3128' },
  })
})

test('hides tokens by their format anywhere in a text (R210)', () => {
  const texts = [
    '6b011d1efe29dabbc30e6f2e.dt4jm3H7PBUmz_hx_pE4TtWN',
    'eyJhbGciOi.eyJzdWIiOi.c2lnbmF0dXJl',
    'Authorization: Bearer abcdefghijklmnop',
    '-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----',
  ]
  for (const text of texts) {
    const hidden = hideTokens(`before ${text} after`)
    expect(hidden).toContain('[hidden]')
    expect(hidden).toMatch(/^before .*after$/s)
  }
  expect(hideTokens('https://user:pass@proxy.example.com/x')).toBe('https://*****@proxy.example.com/x')
  expect(hideTokens('https://user:p@ss@proxy.example.com/a@b')).toBe('https://*****@proxy.example.com/a@b')
  expect(hideTokens('https://token-as-user@git.example.com/a')).toBe('https://*****@git.example.com/a')
})

test('`tar` reads an archive, including long paths', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-tar-'))
  const long = `${'namespace/'.repeat(12)}pod.log`
  try {
    writeFileSync(
      join(folder, 'b.tar'),
      await toTar(
        new Map([
          ['a.txt', 'hello'],
          [long, 'x'.repeat(600)],
        ]),
      ),
    )
    expect(execFileSync('tar', ['-tf', join(folder, 'b.tar')], { encoding: 'utf8' })).toBe(`a.txt\n${long}\n`)
    expect(execFileSync('tar', ['-xOf', join(folder, 'b.tar'), 'a.txt'], { encoding: 'utf8' })).toBe('hello')
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
