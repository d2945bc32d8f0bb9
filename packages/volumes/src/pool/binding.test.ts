import { expect, test } from 'vitest'
import { newVolume, reservation } from './binding.ts'
import { Volume } from './volume.ts'
import type { DiskClaim } from './claim.ts'

const claim = (labels: Record<string, string>, annotations: Record<string, string> = {}): DiskClaim => ({
  request: { storageClassName: 'dind', sizeBytes: 1, selector: [], sortOrder: [], labels, reset: false },
  claim: {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: 'pvc-dind-1', namespace: 'ns', uid: 'u1', annotations },
    spec: { resources: { requests: { storage: '16Gi' } } },
  },
  pod: 'dind-1',
  runtime: 'ctx/ns',
})

test('labels a reused disk with its new claim only, and updates uses and retention', () => {
  const used = Volume.parse({
    metadata: {
      name: 'v',
      resourceVersion: '7',
      labels: { trigger: 'old', pipeline_id: 'p', 'backend-volume-type': 'ebs', 'backend-volume-id-md5': 'x' },
      annotations: { 'codefresh.io/mount-count': '4', 'codefresh.io/usedBy': 'dind-0', 'windlass.io/available-bytes': '1' },
    },
    spec: { capacity: { storage: '16Gi' } },
  })
  const taken = reservation(
    used,
    claim({ pipeline_id: 'p', 'windlass.io/build': 'b1' }, { 'codefresh.io/volume-retention': '7d' }),
    0,
  )
  expect(taken).toMatchObject({
    metadata: {
      resourceVersion: '7',
      labels: { trigger: null, pipeline_id: 'p', pod_name: 'dind-1', pod_namespace: 'ns', runtime_env: 'ctx/ns' },
      annotations: {
        'codefresh.io/mount-count': '5',
        'codefresh.io/usedBy': 'dind-0,dind-1',
        'codefresh.io/lastUsedTimestamp': '1970-01-01T00:00:00.000Z',
        'codefresh.io/volume-retention': '7d',
        'windlass.io/last-build': 'b1',
        'windlass.io/kept-until': null,
        'windlass.io/available-bytes': null,
      },
    },
    spec: { claimRef: { namespace: 'ns', name: 'pvc-dind-1', uid: 'u1' } },
  })
  expect(JSON.stringify(taken)).not.toContain('backend-volume')
})

test('names a new disk after its claim, the same on every attempt, and copies the retention (R114)', () => {
  const disk = { id: 'vol-0abc', backend: 'ebs-csi', spec: { csi: { driver: 'ebs.csi.aws.com', volumeHandle: 'vol-0abc' } } }
  const wanted = claim({ pipeline_id: 'p' }, { 'codefresh.io/volume-retention': '7d' })
  const made = newVolume(disk, wanted, 0)
  expect(newVolume(disk, wanted, 99).metadata.name).toBe(made.metadata.name)
  expect(made).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^dind-volume-[0-9a-f]{12}$/),
      labels: {
        'codefresh-app': 'dind',
        'backend-volume-type': 'ebs-csi',
        'backend-volume-id-md5': expect.stringMatching(/^[0-9a-f]{32}$/),
      },
      annotations: { 'backend-volume-id': 'vol-0abc', 'codefresh.io/volume-retention': '7d', 'codefresh.io/mount-count': '1' },
    },
    spec: { persistentVolumeReclaimPolicy: 'Retain', capacity: { storage: '16Gi' }, csi: { volumeHandle: 'vol-0abc' } },
  })
})
