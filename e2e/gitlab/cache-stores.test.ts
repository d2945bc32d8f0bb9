/** Caches that jobs in pods of a real Kubernetes keep in other stores than S3 with keys: with a role of AWS, in Google Cloud Storage and in Azure. */
import { generateKeyPairSync } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { CLUSTER_HOST } from '../support/cluster.ts'
import { createBucket } from '../support/log-bucket.ts'
import { startMoto, type Moto } from '../support/moto.ts'
import { startFakeAzure, type FakeAzure } from './support/fake-azure.ts'
import { startFakeGcs } from './support/fake-gcs.ts'
import type { FakeStore } from './support/fake-store.ts'
import { openRunnerScene, type Manager, type RunnerScene } from './support/runner-scene.ts'

const EMAIL = 'ci@acme.iam.gserviceaccount.com'
const ROLE = 'arn:aws:iam::123456789012:role/caches'
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })

let scene: RunnerScene
let moto: Moto
let bucket: string
let gcs: FakeStore
let azure: FakeAzure
let folder: string
beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'windlass-cache-stores-'))
  const key = { type: 'service_account', client_email: EMAIL, private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }) }
  writeFileSync(join(folder, 'key.json'), JSON.stringify(key))
  writeFileSync(join(folder, 'federated'), 'token-of-the-manager')
  moto = await startMoto(CLUSTER_HOST)
  bucket = await createBucket(moto.url)
  gcs = await startFakeGcs({ host: CLUSTER_HOST, email: EMAIL, publicKey })
  const accountKey = Buffer.from('key of the account').toString('base64')
  azure = await startFakeAzure({ host: CLUSTER_HOST, account: 'acme', key: accountKey, federatedToken: 'token-of-the-manager' })
  scene = await openRunnerScene(`gitlab-stores-${process.pid}`)
})
afterAll(async () => {
  await scene?.close()
  await azure?.[Symbol.asyncDispose]()
  await gcs?.[Symbol.asyncDispose]()
  await moto?.[Symbol.asyncDispose]()
  rmSync(folder, { recursive: true, force: true })
})

interface Kind {
  /** Lines below `[runners.cache]`. */
  readonly cache: string
  readonly env: Readonly<Record<string, string>>
  readonly objects: () => Promise<string[]>
}

const inS3 = async (): Promise<string[]> => {
  const list = await (await fetch(`${moto.url}/${bucket}?list-type=2`)).text()
  return [...list.matchAll(/<Key>([^<]+)<\/Key>/g)].map(([, key]) => `/${bucket}/${key ?? ''}`)
}

const KINDS: Readonly<Record<string, () => Kind>> = {
  'S3 with a role': () => ({
    cache: `Type = "s3"\n[runners.cache.s3]\nServerAddress = "${new URL(moto.url).host}"\nInsecure = true\nAccessKey = "AKIATEST"\nSecretKey = "secret"\nBucketName = "${bucket}"\nRoleARN = "${ROLE}"\n`,
    env: { AWS_ENDPOINT_URL_STS: moto.url },
    objects: inS3,
  }),
  'Google Cloud Storage': () => ({
    cache: `Type = "gcs"\n[runners.cache.gcs]\nBucketName = "ci"\nCredentialsFile = "${join(folder, 'key.json')}"\n`,
    env: { STORAGE_EMULATOR_HOST: gcs.url },
    objects: () => Promise.resolve([...gcs.objects.keys()]),
  }),
  'Azure by Workload Identity': () => ({
    cache: `Type = "azure"\n[runners.cache.azure]\nAccountName = "acme"\nContainerName = "ci"\nStorageDomain = "${azure.url}"\n`,
    env: {
      AZURE_CLIENT_ID: 'client-1',
      AZURE_TENANT_ID: 'tenant-1',
      AZURE_FEDERATED_TOKEN_FILE: join(folder, 'federated'),
      AZURE_AUTHORITY_HOST: azure.url,
    },
    objects: () => Promise.resolve([...azure.objects.keys()]),
  }),
}

test('a job whose manager gets no credentials for the store runs without its caches, and its log says why (G042)', async () => {
  const cache = `[runners.cache]\nType = "s3"\n[runners.cache.s3]\nAccessKey = "AK"\nSecretKey = "SK"\nBucketName = "ci"\nRoleARN = "${ROLE}"\n`
  // Answers each call with 403.
  const manager = await scene.startManager({ name: 'refused', runner: cache, env: { AWS_ENDPOINT_URL_STS: azure.url } })
  try {
    const job = await scene.ended(
      scene.enqueue(['mkdir deps'], { cache: [{ key: 'deps', paths: ['deps/'], when: 'on_success' }] }),
    )
    expect(job.final, job.trace.toString()).toMatchObject({ state: 'success' })
    expect(job.trace.toString()).toContain(
      'WARNING: caches stay in the pod of this job: the runner got no credentials for the object store',
    )
  } finally {
    await manager.service.stop('SIGTERM')
  }
})

test.each(Object.entries(KINDS))('a cache goes from pod to pod in %s (G042, G044)', async (name, open) => {
  const { cache, env, objects } = open()
  const manager: Manager = await scene.startManager({
    name: name.replaceAll(' ', '-').toLowerCase(),
    runner: `[runners.cache]\nShared = true\n${cache}`,
    env,
  })
  try {
    const jobs = { cache: [{ key: 'deps', paths: ['deps/'], policy: 'pull-push', when: 'on_success' }] }
    const first = await scene.ended(scene.enqueue(['test ! -e deps', 'mkdir deps', `echo "${name}" >deps/tool`], jobs))
    expect(first.final, first.trace.toString()).toMatchObject({ state: 'success' })
    expect(first.trace.toString()).toContain('Created cache')
    expect((await objects()).filter((path) => path.endsWith('/project/5/deps'))).toHaveLength(1)

    const second = await scene.ended(scene.enqueue([`test "$(cat deps/tool)" = "${name}"`], jobs))
    expect(second.final, second.trace.toString()).toMatchObject({ state: 'success' })
    expect(second.trace.toString()).toContain('Successfully extracted cache')
    for (const { trace } of [first, second]) expect(trace.toString()).not.toMatch(/Signature|[?&]sig=|ASIA/)
  } finally {
    await manager.service.stop('SIGTERM')
  }
})
