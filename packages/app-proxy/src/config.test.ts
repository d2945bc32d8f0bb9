/** Settings of the archive of workflow logs. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { silentLog, systemClock } from '@windlass/kit'
import { afterAll, expect, test } from 'vitest'
import type { AppProxyOptions } from './options.ts'
import { readAppProxyConfig, toAppProxyOptions } from './config.ts'

const folder = mkdtempSync(join(tmpdir(), 'windlass-config-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const kubeconfig = join(folder, 'kubeconfig')
const list = (key: string, value: object): object[] => [{ name: 'a', [key]: value }]
writeFileSync(
  kubeconfig,
  JSON.stringify({
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'a',
    clusters: list('cluster', { server: 'https://127.0.0.1:1' }),
    users: list('user', { token: 't' }),
    contexts: list('context', { cluster: 'a', user: 'a', namespace: 'gitops' }),
  }),
)
const NEEDED = {
  SERVER_URL: 'https://ci.example.com',
  RUNTIME: 'prod',
  ACCOUNT_ID: '65f0c1d2a3b4c5d6e7f80912',
  TOKEN_PATH: 'token',
  STORE_IV: 'x'.repeat(16),
  KUBECONFIG: kubeconfig,
}
const STORE = { URL: 'https://minio.example.com:9000/', BUCKET: 'logs', ACCESS_KEY_PATH: 'a', SECRET_KEY_PATH: 'b' }

/** Returns the archive of these settings, which are given without `WORKFLOW_LOGS_`. */
async function archiveOf(given: Readonly<Record<string, string>>): Promise<AppProxyOptions['logArchive']> {
  const settings = Object.entries(given).map(([name, value]) => [`WORKFLOW_LOGS_${name}`, value] as const)
  const all = [...Object.entries(NEEDED), ...settings].map(([name, value]) => [`WINDLASS_APP_PROXY_${name}`, value])
  const rest = { clock: systemClock, log: silentLog, version: '1.2.3', environment: {} }
  return (await toAppProxyOptions(readAppProxyConfig(Object.fromEntries(all)), rest)).logArchive
}

test('an archive has a store, a bucket and keys, and the prefix of the runtime', async () => {
  expect(await archiveOf({})).toBeUndefined()
  const found = { url: 'https://minio.example.com:9000', bucket: 'logs', accessKeyFile: 'a', secretKeyFile: 'b' }
  expect(await archiveOf(STORE)).toEqual({ ...found, region: 'us-east-1', prefix: 'prod' })
  expect(await archiveOf({ ...STORE, PREFIX: 'ci/prod.1', REGION: 'eu-west-1' })).toMatchObject({
    prefix: 'ci/prod.1',
    region: 'eu-west-1',
  })
})

test.each([
  { why: 'no bucket', given: { BUCKET: undefined }, says: 'WORKFLOW_LOGS_BUCKET' },
  { why: 'no keys', given: { SECRET_KEY_PATH: undefined }, says: 'WORKFLOW_LOGS_SECRET_KEY_PATH' },
  { why: 'a path in the address', given: { URL: 'https://example.com/minio' }, says: 'must be an address' },
  { why: 'a password in the address', given: { URL: 'https://a:b@example.com' }, says: 'WORKFLOW_LOGS_URL' },
  { why: 'another protocol', given: { URL: 's3://logs' }, says: 'WORKFLOW_LOGS_URL' },
  { why: 'a bucket with a path', given: { BUCKET: 'logs/prod' }, says: 'must be the name of a bucket' },
  { why: 'an absolute prefix', given: { PREFIX: '/prod' }, says: 'must be the begin of a key' },
  { why: 'a prefix that leads upwards', given: { PREFIX: 'prod/..' }, says: 'must be the begin of a key' },
  { why: 'a slash at the end of the prefix', given: { PREFIX: 'prod/' }, says: 'must be the begin of a key' },
])('an archive with $why is refused', async ({ given, says }) => {
  const all = Object.entries({ ...STORE, ...given }).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  const error = await archiveOf(Object.fromEntries(all)).catch((thrown: unknown) => thrown)
  expect(error).toMatchObject({ code: 'config-invalid' })
  expect(JSON.stringify([error, String(error)])).toContain(says)
})
