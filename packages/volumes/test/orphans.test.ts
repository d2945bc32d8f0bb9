/** Cloud disks without a volume. */
import { manualClock, silentLog, systemClock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { gceDiskBackend } from '../src/backends/gcedisk.ts'
import { readParameters, type GceDiskParameters } from '../src/backends/parameters.ts'
import { claimKey } from '../src/pool/maker.ts'
import { NOTE } from '../src/pool/notes.ts'
import { Claim, requestOf } from '../src/pool/request.ts'
import { removeOrphans } from '../src/provisioner/orphans.ts'
import { openFakeCloud } from '../../../e2e/support/fake-cloud.ts'
import { ModelCluster, randomOf } from './model/cluster.ts'

const NOW = Date.parse('2026-01-02T00:00:00Z')
const CLASS = { volumeBackend: 'gcedisk', zone: 'us-central1-a' }

test('removes a disk without volume and claim once it had time to get its volume', async () => {
  const claim = Claim.parse({
    metadata: { name: 'waits', namespace: 'ns', uid: 'u1' },
    spec: { storageClassName: 'dind', resources: { requests: { storage: '16Gi' } } },
  })
  const object = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claim }
  const key = claimKey({ claim: object, request: requestOf(claim), pod: '', runtime: '' })
  const disk = (name: string, claimed: string, createdAt: string): object => ({
    name,
    status: 'READY',
    labels: { 'windlass-claim-key': claimed, 'windlass-owner': 'o' },
    creationTimestamp: createdAt,
  })
  const items = [
    disk('in-the-pool', 'k1', '2026-01-01T00:00:00Z'),
    disk('of-a-claim-that-waits', key, '2026-01-01T00:00:00Z'),
    disk('just-made', 'k2', '2026-01-01T23:55:00Z'),
    disk('forgotten', 'k3', '2026-01-01T00:00:00Z'),
  ]
  await using cloud = await openFakeCloud(() => ({ body: { items } }))
  const caller = { dead: false }
  const cluster = new ModelCluster(randomOf(1))
  cluster.put({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: 'v', annotations: { [NOTE.backendId]: 'in-the-pool' } },
    spec: { capacity: { storage: '16Gi' } },
  })
  const storageClass = {
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name: 'dind' },
    provisioner: 'p',
    parameters: CLASS,
  }
  const access = async (): Promise<{ project: string; token: string }> => ({ project: 'acme', token: 't' })
  const parameters = readParameters('dind', CLASS) as GceDiskParameters
  const parts: Parameters<typeof removeOrphans>[0] = {
    kube: cluster.kube(caller),
    clock: manualClock(NOW),
    log: silentLog,
    view: {
      classes: new Map([['dind', storageClass]]),
      nodes: new Map(),
      volumes: new Map(),
      claims: new Map([['ns/waits', claim]]),
      podOf: () => undefined,
      synced: Promise.resolve(),
      heardAt: () => 0,
    },
    events: { write: async () => undefined },
    provisionerName: 'p',
    owner: 'o',
    openBackend: () => gceDiskBackend({ clock: systemClock, parameters, owner: 'o', access, url: cloud.url }),
    counts: { reused: 0, created: 0, removed: 0, failed: 0 },
  }
  const stepping = setInterval(() => cluster.step(), 1)
  try {
    expect(await removeOrphans(parts, new AbortController().signal)).toBe(1)
  } finally {
    clearInterval(stepping)
  }
  expect(cloud.calls().filter((call) => call.startsWith('DELETE'))).toEqual([
    'DELETE /projects/acme/zones/us-central1-a/disks/forgotten',
  ])
})
