import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { readKubeconfig } from './config.ts'
import { ExecSpec, loginByCommand, type ExecOptions } from './exec-login.ts'

const apiVersion = 'client.authentication.k8s.io/v1'

/** Writes a login command of shell lines to a folder. */
function commandOf(...lines: string[]): { folder: string; spec: ExecSpec } {
  const folder = mkdtempSync(join(tmpdir(), 'exec-login-'))
  onTestFinished(() => rmSync(folder, { recursive: true, maxRetries: 10 }))
  const path = join(folder, 'login')
  writeFileSync(path, ['#!/bin/sh', ...lines].join('\n'))
  chmodSync(path, 0o755)
  return {
    folder,
    spec: ExecSpec.parse({ apiVersion, command: './login', args: ['--role', 'a b'], env: [{ name: 'REGION', value: 'north' }] }),
  }
}

function options(folder: string, more: Partial<ExecOptions> = {}): ExecOptions {
  return { folder, cluster: { server: 'https://cluster' }, environment: { PATH: '/usr/bin:/bin' }, ...more }
}

test('runs the command with its arguments and variables and uses its token', async () => {
  const { folder, spec } = commandOf(
    'printf "%s|%s|%s" "$2" "$REGION" "$KUBERNETES_EXEC_INFO" > "$(dirname "$0")/seen"',
    'echo \'{"kind":"ExecCredential","status":{"token":"short-lived"}}\'',
  )
  const login = await loginByCommand({ ...spec, provideClusterInfo: true }, options(folder))
  expect(login.token?.()).toBe('short-lived')
  const [role, region, info] = readFileSync(join(folder, 'seen'), 'utf8').split('|')
  expect([role, region]).toEqual(['a b', 'north'])
  expect(JSON.parse(info ?? '')).toMatchObject({ spec: { interactive: false, cluster: { server: 'https://cluster' } } })
})

test('renews a token before it expires', async () => {
  const { folder, spec } = commandOf(
    'count="$(dirname "$0")/count"; echo x >> "$count"; n=$(wc -l < "$count" | tr -d " ")',
    'echo "{\\"status\\":{\\"token\\":\\"token-$n\\",\\"expirationTimestamp\\":\\"2030-01-01T00:15:00Z\\"}}"',
  )
  const clock = manualClock(Date.parse('2030-01-01T00:00:00Z'))
  const { token } = await loginByCommand(spec, options(folder, { clock }))
  expect(token?.()).toBe('token-1')
  clock.advance(14 * 60_000)
  expect(token?.()).toBe('token-1')
  await expect.poll(() => token?.()).toMatch(/token-[23]/)
})

test('reports a command that fails, is missing or needs a terminal, and never its output', async () => {
  const { folder, spec } = commandOf('echo secret-output; echo "not logged in to the cloud" >&2; exit 1')
  const failure = loginByCommand(spec, options(folder))
  await expect(failure).rejects.toMatchObject({
    code: 'config-invalid',
    message: expect.stringContaining('not logged in to the cloud'),
  })
  await expect(failure).rejects.not.toMatchObject({ message: expect.stringContaining('secret-output') })
  const missing = { ...spec, command: 'no-such-login-command', installHint: 'Install it from your cloud.' }
  await expect(loginByCommand(missing, options(folder))).rejects.toMatchObject({
    message: expect.stringContaining('not installed'),
    hint: 'Install it from your cloud.',
  })
  await expect(loginByCommand({ ...spec, interactiveMode: 'Always' }, options(folder))).rejects.toMatchObject({
    message: expect.stringContaining('needs a terminal'),
  })
})

test('reads the kubeconfig of a cloud with such a command', async () => {
  const { folder } = commandOf('echo \'{"status":{"token":"of-the-cloud"}}\'')
  const user = { exec: { apiVersion, command: './login', interactiveMode: 'IfAvailable', args: null } }
  const config = {
    'current-context': 'cloud',
    contexts: [{ name: 'cloud', context: { cluster: 'c', user: 'u' } }],
    clusters: [{ name: 'c', cluster: { server: 'https://cloud' } }],
    users: [{ name: 'u', user }],
  }
  writeFileSync(join(folder, 'config'), JSON.stringify(config))
  expect((await readKubeconfig(join(folder, 'config'))).token?.()).toBe('of-the-cloud')
})
