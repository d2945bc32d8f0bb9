/** Golden requests to Google Compute Engine and Azure Resource Manager, and how their tokens are had. */
import { createVerify, generateKeyPairSync } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { systemClock } from '@windlass/kit'
import { expect, onTestFinished, test } from 'vitest'
import { azureAccess } from '../src/backends/azure-access.ts'
import { azureDiskBackend } from '../src/backends/azuredisk.ts'
import type { Backend } from '../src/backends/backend.ts'
import { gceDiskBackend } from '../src/backends/gcedisk.ts'
import { googleAccess } from '../src/backends/google-access.ts'
import { readParameters, type AzureDiskParameters, type GceDiskParameters } from '../src/backends/parameters.ts'
import { NOTE } from '../src/pool/notes.ts'
import { Volume } from '../src/pool/volume.ts'
import { openFakeCloud } from './fakes/cloud.ts'

const signal = AbortSignal.timeout(60_000)
const wish: Parameters<Backend['make']>[0] = {
  key: '0123456789ab',
  sizeBytes: 2 ** 34,
  tags: { 'windlass-owner': 'o', 'windlass-claim-key': '0123456789ab' },
}
const volumeOf = (id: string): Volume =>
  Volume.parse({
    metadata: { name: 'v', resourceVersion: '1', annotations: { [NOTE.backendId]: id } },
    spec: { capacity: { storage: '16Gi' } },
  })

async function file(name: string, text: string): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'cloud-'))
  onTestFinished(() => rm(dir, { recursive: true }))
  await writeFile(join(dir, name), text)
  return join(dir, name)
}

test('R084: a disk of Google is inserted by name, waited for, listed by its mark and deleted', async () => {
  const name = 'dind-volume-0123456789ab'
  let state = 'CREATING'
  await using cloud = await openFakeCloud(({ method, path }) => {
    if (method === 'POST' && state !== 'CREATING') return { status: 409, body: { error: { code: 409, message: 'it exists' } } }
    if (method === 'GET' && path.includes('?')) {
      const labels = { 'windlass-owner': 'o', 'windlass-claim-key': '0123456789ab' }
      return { body: { items: [{ name, status: 'READY', labels, creationTimestamp: '2026-01-01T00:00:00Z' }] } }
    }
    const body = { name, status: state }
    state = 'READY'
    return { body }
  })
  const parameters = readParameters('c', { volumeBackend: 'gcedisk', zone: 'us-central1-a' }) as GceDiskParameters
  const access = async (): Promise<{ project: string; token: string }> => ({ project: 'acme', token: 'secret' })
  const backend = gceDiskBackend({ clock: systemClock, parameters, owner: 'o', access, url: cloud.url })
  expect(await backend.make(wish, signal)).toMatchObject({ id: name, backend: 'gcedisk' })
  // After a crash: the name is taken, by ourselves.
  expect(await backend.make(wish, signal)).toMatchObject({ id: name })
  expect(await backend.list?.(signal)).toEqual([{ id: name, key: '0123456789ab', createdAt: Date.parse('2026-01-01') }])
  await backend.remove(volumeOf(name), signal)
  const disks = '/projects/acme/zones/us-central1-a/disks'
  expect(cloud.calls()).toEqual([
    `POST ${disks}`,
    `GET ${disks}/${name}`,
    `POST ${disks}`,
    `GET ${disks}/${name}`,
    `GET ${disks}?filter=labels.windlass-owner%3Do`,
    `DELETE ${disks}/${name}`,
  ])
  expect(cloud.asked.every(({ headers }) => headers.authorization === 'Bearer secret')).toBe(true)
  expect(JSON.parse(cloud.asked[0]?.body ?? '')).toMatchObject({
    name,
    sizeGb: '16',
    type: 'zones/us-central1-a/diskTypes/pd-ssd',
  })
})

test('a refusal carries the words of Google', async () => {
  const error = { code: 403, message: 'Required compute.disks.create permission', errors: [{ reason: 'forbidden' }] }
  await using cloud = await openFakeCloud(() => ({ status: 403, body: { error } }))
  const parameters = readParameters('c', { volumeBackend: 'gcedisk', zone: 'us-central1-a' }) as GceDiskParameters
  const access = async (): Promise<{ project: string; token: string }> => ({ project: 'acme', token: 'secret' })
  const backend = gceDiskBackend({ clock: systemClock, parameters, owner: 'o', access, url: cloud.url })
  await expect(backend.make(wish, signal)).rejects.toMatchObject({
    code: 'storage-refused',
    message: 'Compute Engine disks.insert: forbidden: Required compute.disks.create permission',
  })
})

test('the key of a Google service account is exchanged for a token by a signed assertion', async () => {
  const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
  await using cloud = await openFakeCloud(() => ({ body: { access_token: 'token-1', expires_in: 3600 } }))
  const key = {
    type: 'service_account',
    project_id: 'acme',
    client_email: 'disks@acme.iam.gserviceaccount.com',
    private_key: privateKey.export({ type: 'pkcs8', format: 'pem' }),
    token_uri: `${cloud.url}/token`,
  }
  const env = { GOOGLE_APPLICATION_CREDENTIALS: await file('key.json', JSON.stringify(key)) }
  const ask = googleAccess({ env, clock: systemClock })
  expect(await ask(signal)).toEqual({ project: 'acme', token: 'token-1' })
  await ask(signal)
  expect(cloud.calls()).toEqual(['POST /token'])
  const form = new URLSearchParams(cloud.asked[0]?.body)
  const [head = '', claims = '', signature = ''] = (form.get('assertion') ?? '').split('.')
  expect(form.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:jwt-bearer')
  expect(createVerify('RSA-SHA256').update(`${head}.${claims}`).verify(publicKey, signature, 'base64url')).toBe(true)
  expect(JSON.parse(Buffer.from(claims, 'base64url').toString())).toMatchObject({
    iss: key.client_email,
    aud: key.token_uri,
    scope: 'https://www.googleapis.com/auth/compute',
  })
  const broken = googleAccess({
    env: { GOOGLE_APPLICATION_CREDENTIALS: await file('k.json', '{"private_key":"s3cret"}') },
    clock: systemClock,
  })
  await expect(broken(signal)).rejects.toThrow(/^(?!.*s3cret).*is not the key file/)
})

test('without a key file the metadata server is asked, which is Workload Identity on GKE', async () => {
  await using cloud = await openFakeCloud(({ path }) =>
    path.endsWith('project-id') ? { body: 'acme' } : { body: { access_token: 'token-2', expires_in: 3600 } },
  )
  const access = googleAccess({ env: {}, clock: systemClock, metadataUrl: cloud.url })
  expect(await access(signal)).toEqual({ project: 'acme', token: 'token-2' })
  expect(cloud.asked.every(({ headers }) => headers['metadata-flavor'] === 'Google')).toBe(true)
})

const AZURE = { subscriptionId: 'sub', resourceGroup: 'MC_g', location: 'westeurope', tenantId: 'tenant' }

test('R085: a disk of Azure is put by name, waited for, listed by its mark and deleted', async () => {
  let state = 'Creating'
  const id = '/subscriptions/sub/resourceGroups/MC_g/providers/Microsoft.Compute/disks/dind-volume-0123456789ab'
  await using cloud = await openFakeCloud(({ method, path }) => {
    const disk = {
      id,
      name: 'dind-volume-0123456789ab',
      tags: wish.tags,
      properties: { provisioningState: state, timeCreated: '2026-01-01T00:00:00Z' },
    }
    if (method === 'GET') state = 'Succeeded'
    return { body: method === 'GET' && path.includes('/disks?') ? { value: [disk, { ...disk, tags: {} }] } : disk }
  })
  const parameters = readParameters('c', { volumeBackend: 'azuredisk-csi' }) as AzureDiskParameters
  const access = async (): Promise<typeof AZURE & { token: string }> => ({ ...AZURE, token: 'secret' })
  const backend = azureDiskBackend({ clock: systemClock, parameters, owner: 'o', access, url: cloud.url })
  expect(await backend.make(wish, signal)).toMatchObject({ id, backend: 'azuredisk-csi' })
  expect(await backend.list?.(signal)).toMatchObject([{ id, key: '0123456789ab' }])
  await backend.remove(volumeOf(id), signal)
  const version = '?api-version=2024-03-02'
  expect(cloud.calls()).toEqual([
    `PUT ${id}${version}`,
    `GET ${id}${version}`,
    `GET ${id}${version}`,
    `GET ${id.replace('/dind-volume-0123456789ab', '')}${version}`,
    `DELETE ${id}${version}`,
  ])
  expect(JSON.parse(cloud.asked[0]?.body ?? '')).toMatchObject({
    location: 'westeurope',
    sku: { name: 'Premium_LRS' },
    properties: { diskSizeGB: 16 },
  })
})

test('azure.json names the identity: that of the node, or a service principal', async () => {
  await using cloud = await openFakeCloud(() => ({ body: { access_token: 'token-3', expires_in: '3600' } }))
  const ask = async (more: object): Promise<object> => {
    const env = { AZURE_CREDENTIAL_FILE: await file('azure.json', JSON.stringify({ ...AZURE, ...more })) }
    return azureAccess({ env, clock: systemClock, metadataUrl: cloud.url, loginUrl: cloud.url })(signal)
  }
  expect(await ask({ useManagedIdentityExtension: true, userAssignedIdentityID: 'id-1' })).toMatchObject({
    token: 'token-3',
    location: 'westeurope',
  })
  await ask({ aadClientId: 'app', aadClientSecret: 's' })
  expect(cloud.calls()).toEqual([
    'GET /metadata/identity/oauth2/token?api-version=2018-02-01&resource=https%3A%2F%2Fmanagement.azure.com%2F&client_id=id-1',
    'POST /tenant/oauth2/v2.0/token',
  ])
  expect(cloud.asked[0]?.headers.metadata).toBe('true')
})
