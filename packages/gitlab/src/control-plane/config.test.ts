import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readControlPlane, withOptions } from './config.ts'

test('without a URL and a token there is no Windlass server', () => {
  expect(readControlPlane({ WINDLASS_GITLAB_SERVER_URL: '', HOME: '/root' })).toBeUndefined()
})

test('options replace variables, and the token is read from its file each time', () => {
  const folder = mkdtempSync(join(tmpdir(), 'windlass-control-plane-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const tokenFile = join(folder, 'key')
  writeFileSync(tokenFile, 'first\n')
  const env = withOptions(
    { WINDLASS_GITLAB_SERVER_URL: 'https://old.test', WINDLASS_GITLAB_SERVER_TOKEN: 'old', WINDLASS_GITLAB_SERVER_CA: '/ca' },
    { url: 'https://windlass.test/', tokenFile },
  )
  expect(readControlPlane(env)).toEqual({ url: 'https://windlass.test', token: 'first', caFile: '/ca' })
  writeFileSync(tokenFile, 'second\n')
  expect(readControlPlane(env)?.token).toBe('second')
  rmSync(tokenFile)
  expect(() => readControlPlane(env)).toThrow(expect.objectContaining({ code: 'config-invalid' }))
})

test('an agent in the same pod needs no token, and a server that is named comes before it', () => {
  const env = { WINDLASS_GITLAB_SERVER_AGENT: 'http://127.0.0.1:8082/' }
  expect(readControlPlane(env)).toEqual({ url: 'http://127.0.0.1:8082', token: undefined, caFile: undefined })
  const named = withOptions({ ...env, WINDLASS_GITLAB_SERVER_TOKEN: 'key' }, { url: 'https://windlass.test' })
  expect(readControlPlane(named)).toMatchObject({ url: 'https://windlass.test', token: 'key' })
})

test.each([
  ['an agent in another pod', { WINDLASS_GITLAB_SERVER_AGENT: 'http://10.0.0.7:8082' }, 'not an address of this pod'],
  ['a URL without a token', { WINDLASS_GITLAB_SERVER_URL: 'https://windlass.test' }, 'is set, but no token'],
  ['a token without a URL', { WINDLASS_GITLAB_SERVER_TOKEN: 'secret-key' }, 'is set, but no URL'],
  [
    'a URL with a login',
    { WINDLASS_GITLAB_SERVER_URL: 'https://a:b@windlass.test', WINDLASS_GITLAB_SERVER_TOKEN: 'x' },
    'must be',
  ],
])('refuses %s, and does not repeat the token', (_, env, message) => {
  const error = errorOf(() => readControlPlane(env))
  expect(error).toContain(message)
  expect(error).not.toMatch(/secret-key|a:b/)
})

/** Returns the message and the hint of what `work` throws. */
function errorOf(work: () => unknown): string {
  try {
    return `no error: ${JSON.stringify(work())}`
  } catch (error) {
    return `${String(error)} ${JSON.stringify(error)}`
  }
}
