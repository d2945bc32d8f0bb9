import type { DiskRequest } from '@windlass/protocol'
import { expect, test } from 'vitest'
import { diskFactsOf } from './disk-facts.ts'
import { Volume } from './volume.ts'
import { whyNewDisk } from './why-new.ts'

const BUILD = '65f0a1b2c3d4e5f607182930'
const NODES = new Set(['node-1'])

interface Given {
  readonly phase?: string
  readonly policy?: string
  readonly annotations?: Record<string, string>
  readonly namespace?: string
  readonly pipeline?: string
}

function volume({
  phase = 'Released',
  policy = 'Retain',
  annotations = {},
  namespace = 'builds',
  pipeline = 'p1',
}: Given = {}): Volume {
  return Volume.parse({
    metadata: {
      name: 'dind-volume-1',
      uid: 'u1',
      resourceVersion: '1',
      creationTimestamp: '2026-01-01T00:00:00Z',
      labels: { 'codefresh-app': 'dind', pipeline_id: pipeline, runtime_env: 'prod' },
      annotations: { 'codefresh.io/assignedNode': 'node-1', ...annotations },
    },
    spec: {
      capacity: { storage: '16Gi' },
      accessModes: ['ReadWriteOnce'],
      storageClassName: 'disks',
      persistentVolumeReclaimPolicy: policy,
      local: { path: '/disks/vol-1' },
      claimRef: { name: 'pvc-dind-1', namespace, uid: 'claim-1' },
    },
    status: { phase },
  })
}

test('reads size, use, node, last build, selector and why the disk is new', () => {
  const annotations = {
    'windlass.io/last-build': BUILD,
    'windlass.io/available-bytes': String(4 * 2 ** 30),
    'windlass.io/reuse-selector': 'codefresh-app,pipeline_id,trigger',
    'windlass.io/created-because': 'No disk fits: 1 in use.',
    'codefresh.io/lastUsedTimestamp': '2026-01-02T00:00:00Z',
    'codefresh.io/mount-count': '3',
  }
  expect(diskFactsOf(volume({ annotations }), NODES)).toEqual({
    uid: 'u1',
    name: 'dind-volume-1',
    state: 'warm',
    namespace: 'builds',
    node: 'node-1',
    sizeBytes: 16 * 2 ** 30,
    freeBytes: 4 * 2 ** 30,
    storageClass: 'disks',
    backend: 'local',
    accessMode: 'ReadWriteOnce',
    runtime: 'prod',
    buildId: BUILD,
    pipelineId: 'p1',
    selector: { 'codefresh-app': 'dind', pipeline_id: 'p1', trigger: '' },
    uses: 3,
    createdAt: Date.parse('2026-01-01T00:00:00Z'),
    lastUsedAt: Date.parse('2026-01-02T00:00:00Z'),
    whyNew: 'No disk fits: 1 in use.',
  })
})

test.each<[string, Given, object]>([
  ['in-use', { phase: 'Bound' }, {}],
  ['in-use', { annotations: { 'windlass.io/unconfirmed': 'true' } }, {}],
  [
    'removing',
    { policy: 'Delete', annotations: { 'windlass.io/removing-since': '2026-01-03T00:00:00Z' } },
    { since: Date.parse('2026-01-03T00:00:00Z') },
  ],
  [
    'removing',
    { annotations: { node_requested_deletion: 'node-1' } },
    { message: 'The cleaner of the node node-1 requested the removal.' },
  ],
  ['lost', { annotations: { 'codefresh.io/assignedNode': 'node-2' } }, { message: 'The node node-2 is gone.' }],
])('tells the state %s of %o', (state, given, more) => {
  expect(diskFactsOf(volume(given), NODES)).toMatchObject({ state, ...more })
})

test('a disk of unknown nodes is not lost, and values that cannot be read are left out', () => {
  const annotations = {
    'codefresh.io/assignedNode': 'node-2',
    'windlass.io/available-bytes': '-1',
    'windlass.io/last-build': 'x',
  }
  const facts = diskFactsOf(volume({ annotations }), undefined)
  expect(facts).toMatchObject({ state: 'warm' })
  expect(facts).not.toHaveProperty('freeBytes')
  expect(facts).not.toHaveProperty('buildId')
})

const request: DiskRequest = {
  storageClassName: 'disks',
  sizeBytes: 16 * 2 ** 30,
  selector: ['pipeline_id'],
  sortOrder: [],
  labels: { pipeline_id: 'p1' },
  reset: false,
}
const why = (volumes: readonly Volume[], more: Partial<DiskRequest> = {}): string =>
  whyNewDisk(
    volumes,
    {
      request: { ...request, ...more },
      claim: {
        apiVersion: 'v1',
        kind: 'PersistentVolumeClaim',
        metadata: { name: 'pvc-2', namespace: 'builds', uid: 'claim-2' },
      },
      pod: 'dind-2',
      runtime: 'prod',
    },
    0,
  )

test('says why no disk was reused', () => {
  expect(why([])).toBe('No disk of this class exists yet.')
  expect(why([volume()], { reset: true })).toBe('The build asks for an empty disk.')
  expect(why([volume({ phase: 'Bound' }), volume({ pipeline: 'p2' }), volume({ namespace: 'other' }), volume()])).toBe(
    'No disk fits: 1 in use, 1 of other labels, 1 of another namespace, 1 out of reach.',
  )
})
