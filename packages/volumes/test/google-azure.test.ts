/** Golden requests to Google Compute Engine and Azure Resource Manager. */
import { systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { azureDiskBackend } from '../src/backends/azuredisk.ts'
import type { Backend } from '../src/backends/backend.ts'
import { gceDiskBackend } from '../src/backends/gcedisk.ts'
import { readParameters, type AzureDiskParameters, type GceDiskParameters } from '../src/backends/parameters.ts'
import { NOTE } from '../src/pool/notes.ts'
import { Volume } from '../src/pool/volume.ts'
import { openFakeCloud } from '../../../e2e/support/fake-cloud.ts'

const { signal } = new AbortController()
const wanted: Parameters<Backend['make']>[0] = {
  key: '0123456789ab',
  sizeBytes: 2 ** 34,
  tags: { 'windlass-owner': 'o', 'windlass-claim-key': '0123456789ab' },
}
const volumeOf = (id: string): Volume =>
  Volume.parse({
    metadata: { name: 'v', resourceVersion: '1', annotations: { [NOTE.backendId]: id } },
    spec: { capacity: { storage: '16Gi' } },
  })

test('inserts a Google disk by name, waits for it, lists it by its owner and deletes it (R084)', async () => {
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
  expect(await backend.make(wanted, signal)).toMatchObject({ id: name, backend: 'gcedisk' })
  // After a crash: the name is already taken by the previous attempt.
  expect(await backend.make(wanted, signal)).toMatchObject({ id: name })
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

test('reports a refusal with the message of Google', async () => {
  const error = { code: 403, message: 'Required compute.disks.create permission', errors: [{ reason: 'forbidden' }] }
  await using cloud = await openFakeCloud(() => ({ status: 403, body: { error } }))
  const parameters = readParameters('c', { volumeBackend: 'gcedisk', zone: 'us-central1-a' }) as GceDiskParameters
  const access = async (): Promise<{ project: string; token: string }> => ({ project: 'acme', token: 'secret' })
  const backend = gceDiskBackend({ clock: systemClock, parameters, owner: 'o', access, url: cloud.url })
  await expect(backend.make(wanted, signal)).rejects.toMatchObject({
    code: 'storage-refused',
    message: 'Compute Engine disks.insert: forbidden: Required compute.disks.create permission',
  })
})

const AZURE = { subscriptionId: 'sub', resourceGroup: 'MC_g', location: 'westeurope', tenantId: 'tenant' }

test('puts an Azure disk by name, waits for it, lists it by its owner and deletes it (R085)', async () => {
  let state = 'Creating'
  const id = '/subscriptions/sub/resourceGroups/MC_g/providers/Microsoft.Compute/disks/dind-volume-0123456789ab'
  await using cloud = await openFakeCloud(({ method, path }) => {
    const disk = {
      id,
      name: 'dind-volume-0123456789ab',
      tags: wanted.tags,
      properties: { provisioningState: state, timeCreated: '2026-01-01T00:00:00Z' },
    }
    if (method === 'GET') state = 'Succeeded'
    return { body: method === 'GET' && path.includes('/disks?') ? { value: [disk, { ...disk, tags: {} }] } : disk }
  })
  const parameters = readParameters('c', { volumeBackend: 'azuredisk-csi' }) as AzureDiskParameters
  const access = async (): Promise<typeof AZURE & { token: string }> => ({ ...AZURE, token: 'secret' })
  const backend = azureDiskBackend({ clock: systemClock, parameters, owner: 'o', access, url: cloud.url })
  expect(await backend.make(wanted, signal)).toMatchObject({ id, backend: 'azuredisk-csi' })
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
