import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { manualClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { startFakeVault, type FakeVault } from '../../../../e2e/gitlab/support/fake-vault.ts'
import { Job } from '../job/payload.ts'
import { allowedVaults, withVaultUrls } from './config.ts'
import { resolveSecrets, type ResolvedSecret } from './resolve-secrets.ts'

async function startVault(): Promise<FakeVault> {
  const vault = await startFakeVault({
    host: '127.0.0.1',
    jwt: 'id-token-of-job-7',
    secrets: {
      'ops/data/production/db': { password: 'p4ss', port: 5432 },
      'old/db': { password: 'of version 1' },
    },
  })
  onTestFinished(() => vault[Symbol.asyncDispose]())
  return vault
}

/** Resolves one secret with changed parts of its description, for a manager with this environment. */
async function resolved(
  vault: FakeVault,
  secret: object,
  { env = {}, ...more }: { readonly env?: Record<string, string>; readonly file?: boolean } = {},
): Promise<ResolvedSecret[]> {
  const server = {
    url: vault.url,
    namespace: 'team',
    auth: { name: 'jwt', path: 'gitlab', data: { role: 'ci', jwt: '$ID_TOKEN' } },
  }
  const job = Job.parse({
    id: 7,
    token: 'glcbt-x',
    variables: [
      { key: 'ID_TOKEN', value: 'id-token-of-job-7', masked: true, raw: true },
      { key: 'STAGE', value: 'production' },
    ],
    secrets: {
      DB: { vault: { server, engine: { name: 'kv-v2', path: 'ops' }, path: '$STAGE/db', field: 'password', ...secret }, ...more },
    },
  })
  const { signal } = new AbortController()
  return resolveSecrets({ job, runner: {}, env, clock: manualClock(), signal })
}

test('a field of Vault becomes a file variable, and its token is given back', async () => {
  const vault = await startVault()
  expect(await resolved(vault, {})).toEqual([{ name: 'DB', value: 'p4ss', isFile: true, store: 'Vault' }])
  expect(vault.requests).toEqual([
    'POST auth/gitlab/login team',
    'GET ops/data/production/db team',
    'POST auth/token/revoke-self team',
  ])
  expect(vault.live.size).toBe(0)
})

test('the first version of the engine has no versions in its paths, and a field can be a number', async () => {
  const vault = await startVault()
  const old = { engine: { name: 'kv-v1', path: 'old' }, path: 'db' }
  expect(await resolved(vault, old, { file: false })).toMatchObject([{ value: 'of version 1', isFile: false }])
  expect(await resolved(vault, { field: 'port' })).toMatchObject([{ value: '5432' }])
})

test.each([
  ['a path that does not exist', { path: 'none' }, 'The secret "DB" does not exist in Vault.'],
  ['a field that does not exist', { field: 'none' }, 'The secret "DB" does not exist in Vault.'],
  ['a path that leaves the engine', { path: '../sys/raw' }, 'The path "../sys/raw" is not valid.'],
])('%s fails the job with its name', async (_, secret, says) => {
  const vault = await startVault()
  await expect(resolved(vault, secret)).rejects.toThrow(says)
  expect(vault.live.size).toBe(0)
})

test('a refused login fails the job without the token in the message', async () => {
  const vault = await startVault()
  const server = { url: vault.url, auth: { path: 'gitlab', data: { role: 'other', jwt: '$ID_TOKEN' } } }
  const error = await resolved(vault, { server }).catch((reason: unknown) => String(reason))
  expect(error).toContain('The secret "DB" cannot be read. Vault login: error: permission denied')
  expect(error).not.toContain('id-token')
})

test.each([
  ['another server', 'http', 'the answer has no message of Vault'],
  ['an address that is no URL', 'file', 'is not a URL'],
])('the answer of %s does not reach the message', async (_, scheme, says) => {
  const server = createServer((__, response) => response.writeHead(403).end('{"secret-of-another-server":1}'))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', () => resolve()))
  onTestFinished(() => void server.close())
  const vault = await startVault()
  const url = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`
  const error = await resolved(vault, { server: { url, auth: { path: 'gitlab', data: {} } } }).catch((reason: unknown) =>
    String(reason),
  )
  expect(error).toContain(says)
  expect(error).not.toContain('secret-of-another-server')
})

test('a manager with a list of addresses calls only these, and names them in the reason (G106)', async () => {
  const [vault, other] = [await startVault(), await startVault()]
  const only = (...urls: string[]) => ({ env: { WINDLASS_GITLAB_VAULT_URLS: urls.join(', ') } })
  expect(await resolved(vault, {}, only('https://vault.test', `${vault.url}/`))).toMatchObject([{ value: 'p4ss' }])
  await expect(resolved(vault, {}, only('https://vault.test', other.url))).rejects.toThrow(
    `The secret "DB" cannot be read. The address of Vault, "${vault.url}", is not allowed on this runner. Set VAULT_SERVER_URL in the job to one of: https://vault.test, ${other.url}.`,
  )
  expect([vault.requests.length, other.requests.length]).toEqual([3, 0])
  // A path below an allowed address is another address: a proxy can serve other programs there.
  const server = { url: `${vault.url}/other`, auth: { path: 'gitlab', data: {} } }
  await expect(resolved(vault, { server }, only(vault.url))).rejects.toThrow('is not allowed on this runner')
  expect(vault.requests).toHaveLength(3)
})

test('addresses of the command line replace those of the environment, and wrong ones are refused', () => {
  const env = { WINDLASS_GITLAB_VAULT_URLS: 'https://old.test' }
  expect(allowedVaults({})).toBeUndefined()
  expect(allowedVaults(withVaultUrls(env, []))).toEqual(['https://old.test'])
  expect(allowedVaults(withVaultUrls(env, ['https://A.test:443/', 'https://b.test/vault']))).toEqual([
    'https://a.test',
    'https://b.test/vault',
  ])
  expect(() => allowedVaults(withVaultUrls({}, ['vault.test']))).toThrow(expect.objectContaining({ code: 'config-invalid' }))
})

test('a region that would lead the credentials to another host is refused', async () => {
  const aws = { secret_id: 'db', region: 'evil.example/#', server: {} }
  const job = Job.parse({ id: 7, token: 'x', secrets: { DB: { aws_secrets_manager: aws, file: true } } })
  const { signal } = new AbortController()
  await expect(resolveSecrets({ job, runner: {}, env: {}, clock: manualClock(), signal })).rejects.toThrow(
    '"evil.example/#" is not a region of AWS.',
  )
})

test('a secret that does not exist is left out if the job sets its feature flag', async () => {
  const vault = await startVault()
  const job = Job.parse({
    id: 7,
    token: 'x',
    variables: [{ key: 'FF_SECRET_RESOLVING_FAILS_IF_MISSING', value: 'false' }],
    secrets: {
      DB: {
        vault: {
          server: { url: vault.url, auth: { path: 'gitlab', data: { role: 'ci', jwt: 'id-token-of-job-7' } } },
          engine: { name: 'kv-v2', path: 'ops' },
          path: 'none',
          field: 'x',
        },
      },
    },
  })
  const { signal } = new AbortController()
  expect(await resolveSecrets({ job, runner: {}, env: {}, clock: manualClock(), signal })).toEqual([])
})

test('a store that Windlass does not read fails the job with its kind', async () => {
  const job = Job.parse({ id: 7, token: 'x', secrets: { KEY: { gitlab_secrets_manager: { path: 'k' }, file: true } } })
  const { signal } = new AbortController()
  await expect(resolveSecrets({ job, runner: {}, env: {}, clock: manualClock(), signal })).rejects.toThrow(
    'The secret "KEY" is in a store that Windlass does not read (gitlab_secrets_manager).',
  )
})

test('a secret of AWS without a role for the ID token is not read with the keys of the manager', async () => {
  const job = Job.parse({ id: 7, token: 'x', secrets: { KEY: { aws_secrets_manager: { secret_id: 'k', region: 'eu-west-1' } } } })
  const env = { AWS_ACCESS_KEY_ID: 'AKIA', AWS_SECRET_ACCESS_KEY: 'x', AWS_ENDPOINT_URL_SECRETS_MANAGER: 'http://127.0.0.1:1/' }
  const { signal } = new AbortController()
  await expect(resolveSecrets({ job, runner: {}, env, clock: manualClock(), signal })).rejects.toThrow(
    'The secret "KEY" cannot be read. The secret needs a role and an ID token.',
  )
})
