/** Caches that go through stores by their signed addresses, with the transfer of the helper. The stores check signatures by the published rules. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { manualClock, systemClock, type Clock } from '@windlass/kit'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startFakeAzure, type FakeAzure } from '../../../../e2e/gitlab/support/fake-azure.ts'
import { startFakeGcs } from '../../../../e2e/gitlab/support/fake-gcs.ts'
import { startFakeStore, type FakeStore } from '../../../../e2e/gitlab/support/fake-store.ts'
import { CacheSection } from '../config/sections/cache-section.ts'
import type { CacheUrls } from '../job/stage.ts'
import { AbsentCache } from './absent-cache.ts'
import { signedAddresses } from './signed-addresses.ts'
import { restoreCache, saveCache } from './transfer-cache.ts'

const EMAIL = 'ci@acme.iam.gserviceaccount.com'
const ACCOUNT_KEY = Buffer.from('key of the account').toString('base64')
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()

let gcs: FakeStore
let azure: FakeAzure
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'windlass-cache-'))
  gcs = await startFakeGcs({ host: '127.0.0.1', email: EMAIL, publicKey })
  azure = await startFakeAzure({ host: '127.0.0.1', account: 'acme', key: ACCOUNT_KEY, federatedToken: 'token-of-the-pod' })
  writeFileSync(join(folder, 'key.json'), JSON.stringify({ type: 'service_account', client_email: EMAIL, private_key: PEM }))
  writeFileSync(join(folder, 'federated'), 'token-of-the-pod\n')
})
afterAll(async () => {
  await gcs?.[Symbol.asyncDispose]()
  await azure?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

interface Kind {
  readonly store: FakeStore
  readonly cache: object
  readonly env: Readonly<Record<string, string>>
}

const ofGoogle = (keys: object, env: Readonly<Record<string, string>> = {}): Kind => ({
  store: gcs,
  cache: { Type: 'gcs', gcs: { BucketName: 'ci', ...keys } },
  env: { STORAGE_EMULATOR_HOST: gcs.url, ...env },
})

const ofAzure = (keys: object, env: Readonly<Record<string, string>> = {}): Kind => ({
  store: azure,
  cache: { Type: 'azure', azure: { AccountName: 'acme', ContainerName: 'ci', StorageDomain: azure.url, ...keys } },
  env,
})

const identity = (): Record<string, string> => ({
  AZURE_CLIENT_ID: 'client-1',
  AZURE_TENANT_ID: 'tenant-1',
  AZURE_FEDERATED_TOKEN_FILE: join(folder, 'federated'),
  AZURE_AUTHORITY_HOST: `${azure.url}/`,
})

/** Returns the addresses of the cache "deps (1)". */
async function addressesOf({ cache, env }: Pick<Kind, 'cache' | 'env'>, clock: Clock = systemClock): Promise<CacheUrls> {
  const found = await signedAddresses(['deps (1)'], {
    runner: { cache: CacheSection.parse({ Path: 'team', ...cache }), token: 'glrt-t1_AbCdEfGhIjKl' },
    projectId: 5,
    seconds: 600,
    env,
    clock,
    signal: new AbortController().signal,
  })
  const addresses = found?.get('deps (1)')
  if (addresses === undefined) throw new Error('the cache has no addresses')
  return addresses
}

/** Saves a folder with a file under an address, and returns what another folder gets from the other one. */
async function keep({ get, put, headers }: CacheUrls, text: string): Promise<string> {
  const [from, to] = [mkdtempSync(join(folder, 'from-')), mkdtempSync(join(folder, 'to-'))]
  const lines: string[] = []
  const shared = { timeoutMs: 60_000, env: {}, clock: systemClock, say: (line: string) => void lines.push(line) }
  mkdirSync(join(from, 'deps'))
  writeFileSync(join(from, 'deps/tool'), text)
  const wanted = { paths: ['deps'], exclude: [], untracked: false, maxBytes: 0 }
  await saveCache({ ...shared, ...wanted, file: join(from, 'cache.zip'), folder: from, url: put, headers })
  await restoreCache({ ...shared, file: join(to, 'cache.zip'), folder: to, url: get })
  expect(lines.join('\n')).not.toMatch(/[Ss]ig/)
  return readFileSync(join(to, 'deps/tool'), 'utf8')
}

test.each([
  ['Google Cloud Storage by AccessID and PrivateKey', () => ofGoogle({ AccessID: EMAIL, PrivateKey: PEM })],
  ['Google Cloud Storage by CredentialsFile', () => ofGoogle({ AccessID: 'other', CredentialsFile: join(folder, 'key.json') })],
  [
    'Google Cloud Storage by the key file of the environment',
    () => ofGoogle({}, { GOOGLE_APPLICATION_CREDENTIALS: join(folder, 'key.json') }),
  ],
  ['Azure by the key of the account', () => ofAzure({ AccountKey: ACCOUNT_KEY })],
  ['Azure by Workload Identity', () => ofAzure({}, identity())],
])('a cache is kept in %s, and its addresses are good for nothing else (G044)', async (what, open) => {
  const kind = open()
  const { store } = kind
  const before = store.refused.length
  const addresses = await addressesOf(kind)
  expect(await keep(addresses, what)).toBe(what)
  expect([...store.objects.keys()].every((path) => path.endsWith('/ci/team/runner/AbCdEfGhI/project/5/deps (1)'))).toBe(true)
  expect(store.refused.length).toBe(before)

  const { get, put, headers } = addresses
  const more = Object.fromEntries(headers.map((header) => header.split(': ')))
  const expired = await addressesOf(kind, manualClock(systemClock.now() - 3_000_000)).catch(() => undefined)
  const upload = { method: 'PUT', body: 'x', headers: more }
  const other = (address: string): string => address.replace('/project/5/', '/project/6/')
  for (const [url, init] of [[get, upload] as const, [other(put), upload] as const, [other(get), {}] as const])
    expect((await fetch(url, init)).status).toBe(403)
  if (expired !== undefined) expect((await fetch(expired.get)).status).toBe(403)
})

test('a key of an identity is requested once for a job, and signs all its addresses', async () => {
  const before = azure.delegations()
  const { env, cache } = ofAzure({}, identity())
  const runner = { cache: CacheSection.parse(cache), token: 'glrt-t1_AbCdEfGhIjKl' }
  const { signal } = new AbortController()
  await signedAddresses(['a', 'b'], { runner, projectId: 5, seconds: 600, env, clock: systemClock, signal })
  expect(azure.delegations()).toBe(before + 1)
})

test('without a key and a metadata server there are no addresses, and the reason says what is missing', async () => {
  const server = await startFakeStore({ host: '127.0.0.1', created: 200, refusal: () => 'no metadata' })
  onTestFinished(() => server[Symbol.asyncDispose]())
  const env = { STORAGE_EMULATOR_HOST: gcs.url, GCE_METADATA_HOST: new URL(server.url).host }
  await expect(addressesOf({ cache: { Type: 'gcs', gcs: { BucketName: 'ci' } }, env })).rejects.toThrow('No Google credentials')
})

test.each([
  [{ Type: 'gcs' }, '[runners.cache.gcs] has no BucketName.'],
  [{ Type: 'gcs', gcs: { BucketName: 'ci', AccessID: EMAIL } }, '[runners.cache.gcs] needs AccessID and PrivateKey together.'],
  [{ Type: 'azure', azure: { ContainerName: 'ci' } }, '[runners.cache.azure] has no AccountName.'],
  [{ Type: 'azure', azure: { AccountName: 'acme' } }, '[runners.cache.azure] has no ContainerName.'],
])('the configuration %j fails the job with the key to set', async (cache, message) => {
  await expect(addressesOf({ cache, env: {} })).rejects.toThrow(message)
})

test.each([
  ['gcs', {}, 'https://storage.googleapis.com/ci/'],
  ['gcs', { UniverseDomain: 'apis.test' }, 'https://storage.apis.test/ci/'],
  ['azure', {}, 'https://acme.blob.core.windows.net/ci/'],
  ['azure', { StorageDomain: 'blob.core.chinacloudapi.cn' }, 'https://acme.blob.core.chinacloudapi.cn/ci/'],
])('the addresses of a cache of the type %s with %j begin with %s', async (type, keys, expected) => {
  const google = { BucketName: 'ci', AccessID: EMAIL, PrivateKey: PEM, ...keys }
  const account = { AccountName: 'acme', AccountKey: ACCOUNT_KEY, ContainerName: 'ci', ...keys }
  const cache = { Type: type, ...(type === 'gcs' ? { gcs: google } : { azure: account }) }
  const { get, put } = await addressesOf({ cache, env: {} })
  for (const address of [get, put])
    expect(address.split('?')[0]).toBe(`${expected}team/runner/AbCdEfGhI/project/5/deps%20%281%29`)
})

test('a cache that does not exist yet is told from one that cannot be read', async () => {
  const shared = { timeoutMs: 60_000, env: {}, clock: systemClock, say: () => undefined }
  const place = { file: join(folder, 'absent.zip'), folder }
  await expect(restoreCache({ ...shared, ...place, url: undefined })).rejects.toThrow(AbsentCache)
  const { get } = await addressesOf(ofAzure({ AccountKey: ACCOUNT_KEY, ContainerName: 'empty' }))
  await expect(restoreCache({ ...shared, ...place, url: get })).rejects.toThrow(AbsentCache)
  await expect(restoreCache({ ...shared, ...place, url: get.replace('sig=', 'sig=x') })).rejects.not.toThrow(AbsentCache)
})
