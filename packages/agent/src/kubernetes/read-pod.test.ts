import type { KubeObject } from '@windlass/kube'
import { expect, test } from 'vitest'
import { isMakingRoom, readGonePod, readPod, ROOM_GRACE_SECONDS } from './read-pod.ts'

const BUILD = '65a1b2c3d4e5f60718293a4b'

const RUNS = { running: { startedAt: '2026-01-01T00:00:00Z' } }

interface More {
  readonly app?: string
  readonly deleted?: boolean
  /** Whether the kubelet restarts failed containers. */
  readonly restarts?: boolean
}

function pod(status: Record<string, unknown>, more: More = {}): KubeObject {
  const labels = { 'windlass.io/build': BUILD, 'windlass.io/attempt': '2', app: more.app ?? 'runtime' }
  const deletion = more.deleted === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
  const restartPolicy = more.restarts === true ? 'OnFailure' : 'Never'
  const spec = { restartPolicy, containers: [{ ports: [{ name: 'docker', containerPort: 1300 }] }] }
  return { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'engine-x', labels, ...deletion }, spec, status }
}

const waiting = (reason: string): Record<string, unknown> => ({
  phase: 'Pending',
  containerStatuses: [{ name: 'engine', state: { waiting: { reason, message: 'as the kubelet says' } } }],
})
const ended = (terminated: Record<string, unknown>): Record<string, unknown> => ({
  phase: 'Failed',
  containerStatuses: [{ name: 'engine', state: { terminated } }],
})
const restarting = (state: object, lastState: object = {}): Record<string, unknown> => ({
  phase: 'Running',
  containerStatuses: [{ name: 'engine', state, lastState, restartCount: Object.keys(lastState).length }],
})
const unscheduled = (message: string): Record<string, unknown> => ({
  phase: 'Pending',
  conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable', message }],
})

test.each<[string, KubeObject, Record<string, unknown>]>([
  ['pending', pod({ phase: 'Pending' }), { state: 'starting' }],
  ['running', pod({ phase: 'Running' }), { state: 'running' }],
  [
    'no room',
    pod(unscheduled('0/1 nodes: Insufficient cpu')),
    { state: 'waiting', reason: 'unschedulable', message: '0/1 nodes: Insufficient cpu' },
  ],
  [
    'no disk',
    pod(unscheduled('pod has unbound immediate PersistentVolumeClaims')),
    { state: 'waiting', reason: 'disk-unavailable' },
  ],
  ['bad image', pod(waiting('ErrImagePull')), { state: 'waiting', reason: 'pod-image-error', permanent: false }],
  ['no image name', pod(waiting('InvalidImageName')), { state: 'waiting', reason: 'pod-image-error', permanent: true }],
  ['never pulled', pod(waiting('ErrImageNeverPull')), { state: 'waiting', reason: 'pod-image-error', permanent: true }],
  ['missing secret', pod(waiting('CreateContainerConfigError')), { state: 'waiting', reason: 'pod-failed' }],
  [
    'crash',
    pod(ended({ exitCode: 1, reason: 'Error' })),
    { state: 'lost', reason: 'engine-lost', message: 'The engine ended: exit code 1.' },
  ],
  [
    'out of memory',
    pod(ended({ exitCode: 137, reason: 'OOMKilled' })),
    { state: 'lost', reason: 'engine-lost', message: 'The engine ended: OOMKilled, exit code 137.' },
  ],
  [
    'killed, and restarted on its spool soon',
    pod(restarting({ terminated: { exitCode: 137, reason: 'OOMKilled' } }), { restarts: true }),
    { state: 'lost', reason: 'engine-lost', message: 'The engine ended: OOMKilled, exit code 137.', engineMayReport: true },
  ],
  [
    'restarted on its spool',
    pod(restarting(RUNS, { terminated: { exitCode: 137, reason: 'OOMKilled' } }), { restarts: true }),
    { state: 'lost', reason: 'engine-lost', message: 'The engine ended: OOMKilled, exit code 137.', engineMayReport: true },
  ],
  [
    'waiting for its next restart',
    pod(restarting({ waiting: { reason: 'CrashLoopBackOff' } }, { terminated: { exitCode: 1 } }), { restarts: true }),
    { state: 'lost', reason: 'engine-lost', message: 'The engine ended: exit code 1.', engineMayReport: true },
  ],
  [
    'sent its spool and ended',
    pod({ ...ended({ exitCode: 0, reason: 'Completed' }), phase: 'Succeeded' }, { restarts: true }),
    { state: 'lost', reason: 'engine-lost', message: 'The engine ended: exit code 0.' },
  ],
  [
    'ended on its own while a sidecar runs',
    pod(restarting({ terminated: { exitCode: 0 } }), { restarts: true }),
    { state: 'lost', reason: 'engine-lost' },
  ],
  ['killed, without a restart', pod(restarting({ terminated: { exitCode: 137 } })), { state: 'lost', reason: 'engine-lost' }],
  [
    'killed in a pod that is being deleted',
    pod(restarting({ terminated: { exitCode: 137 } }), { restarts: true, deleted: true }),
    { state: 'lost', reason: 'pod-deleted' },
  ],
  [
    'past its deadline',
    pod({ ...ended({ exitCode: 137 }), reason: 'DeadlineExceeded' }, { restarts: true }),
    { state: 'lost', reason: 'engine-lost' },
  ],
  [
    'being deleted while it runs',
    pod(restarting(RUNS), { restarts: true, deleted: true }),
    { state: 'lost', reason: 'pod-deleted', engineMayReport: true },
  ],
  [
    'daemon being deleted while it runs',
    pod({ phase: 'Running', containerStatuses: [{ name: 'dind', state: RUNS }] }, { app: 'dind', deleted: true }),
    { state: 'lost', reason: 'pod-deleted' },
  ],
  ['daemon ended', pod(ended({ exitCode: 137 }), { app: 'dind' }), { state: 'lost', reason: 'dind-lost' }],
  [
    'daemon with a full disk',
    pod(ended({ exitCode: 1, message: 'No space left on device: the disk of the build has 0 KiB left.' }), { app: 'dind' }),
    { state: 'lost', reason: 'disk-full' },
  ],
  [
    'evicted',
    pod({ phase: 'Failed', reason: 'Evicted', message: 'low on memory' }),
    { state: 'lost', reason: 'evicted', message: 'low on memory' },
  ],
  ['node shut down', pod({ phase: 'Failed', reason: 'NodeShutdown' }), { state: 'lost', reason: 'node-lost' }],
  [
    'refused by the kubelet',
    pod({ phase: 'Failed', reason: 'OutOfcpu', message: 'no cpu' }),
    { state: 'lost', reason: 'pod-rejected', message: 'OutOfcpu: no cpu' },
  ],
  ['deleted', pod({ phase: 'Running' }, { deleted: true }), { state: 'lost', reason: 'pod-deleted' }],
  [
    'taint',
    pod(
      {
        phase: 'Running',
        conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'DeletionByTaintManager', message: 'node is gone' }],
      },
      { deleted: true },
    ),
    { state: 'lost', reason: 'node-lost', message: 'node is gone' },
  ],
])('derives a fact from a pod: %s', (_name, object, fact) => {
  expect(readPod(object)).toMatchObject({ buildId: BUILD, attempt: 2, object: 'engine-x', ...fact })
  expect(readPod(object)?.engineMayReport).toBe(fact['engineMayReport'])
})

const LOW =
  'The node was low on resource: ephemeral-storage. Threshold quantity: 2Gi, available: 1Gi. Container engine was using 4Mi.'
const NO_SPACE = 'failed to pull and unpack image: write /var/lib/containerd/x: no space left on device'
const TAINT = '0/2 nodes are available: 2 node(s) had untolerated taint {node.kubernetes.io/disk-pressure: }.'
const PRESSURE = { type: 'DisruptionTarget', status: 'True', reason: 'TerminationByKubelet', message: LOW }
const pulling = { waiting: { reason: 'ErrImagePull', message: NO_SPACE } }

test.each<[string, KubeObject, Record<string, unknown>]>([
  ['evicted by the kubelet', pod({ phase: 'Failed', reason: 'Evicted', message: LOW }), { state: 'lost', message: LOW }],
  [
    'refused by the kubelet',
    pod({ phase: 'Failed', reason: 'Evicted', message: 'The node had condition: [DiskPressure]. ' }),
    { state: 'lost' },
  ],
  ['being evicted', pod({ phase: 'Running', conditions: [PRESSURE] }, { deleted: true }), { state: 'lost', message: LOW }],
  ['avoided by the scheduler', pod(unscheduled(TAINT)), { state: 'waiting', message: TAINT }],
  [
    'without room for an image',
    pod({ phase: 'Pending', containerStatuses: [{ name: 'engine', state: pulling }] }),
    { state: 'waiting', message: `container engine: ErrImagePull: ${NO_SPACE}` },
  ],
])('a full disk of a node has its own reason: %s', (_name, object, fact) => {
  expect(readPod(object)).toMatchObject({ reason: 'node-disk-full', ...fact })
})

test('an eviction of a pod over its own limit is not a full disk of the node', () => {
  const message = 'Pod ephemeral local storage usage exceeds the total limit of containers 1Gi. '
  expect(readPod(pod({ phase: 'Failed', reason: 'Evicted', message }))).toMatchObject({ reason: 'evicted', message })
})

const PULLS = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling' } }

test.each([
  ['runtime', 'engine', 'engine-lost', 'The engine'],
  ['dind', 'dind', 'dind-lost', 'The Docker daemon'],
])('in a pod of %s with a sidecar, reports the state of the container %s', (app, own, lost, what) => {
  const read = (phase: string, state: object, proxy: object): unknown => {
    const containerStatuses = [
      { name: 'a-proxy', state: proxy },
      { name: own, state },
    ]
    return readPod(pod({ phase, containerStatuses }, { app }))
  }
  const message = `container ${own}: ImagePullBackOff: Back-off pulling`
  expect(read('Running', PULLS, RUNS)).toMatchObject({ state: 'waiting', reason: 'pod-image-error', message })
  expect(read('Running', { waiting: { reason: 'ContainerCreating' } }, RUNS)).toMatchObject({ state: 'starting' })
  expect(read('Running', RUNS, RUNS)).toMatchObject({ state: 'running' })
  // The kubelet keeps a pod Pending until each of its containers was started.
  expect(read('Pending', RUNS, PULLS)).toMatchObject({ state: 'running' })
  const end = { terminated: { exitCode: 3, reason: 'Error' } }
  expect(read('Running', end, RUNS)).toMatchObject({ state: 'lost', reason: lost, message: `${what} ended: exit code 3.` })
  const proxyEnd = { terminated: { exitCode: 143 } }
  expect(read('Failed', end, proxyEnd)).toMatchObject({ state: 'lost', message: `${what} ended: exit code 3.` })
})

test('reports the address of the daemon as soon as the pod has one', () => {
  expect(readPod(pod({ phase: 'Pending', podIP: '10.1.2.3' }, { app: 'dind' }))).toMatchObject({
    state: 'starting',
    dockerHost: 'tcp://10.1.2.3:1300',
  })
  expect(readPod(pod({ phase: 'Running', podIP: 'fd00::7' }, { app: 'dind' }))).toMatchObject({
    dockerHost: 'tcp://[fd00::7]:1300',
  })
  expect(readPod(pod({ phase: 'Running', podIP: '10.1.2.3' }))).not.toHaveProperty('dockerHost')
})

test('reports a pod that is gone without an end as deleted, and keeps the cause of one that had ended', () => {
  const gone = readGonePod(pod(restarting(RUNS), { restarts: true, deleted: true }))
  expect(gone).toMatchObject({ state: 'lost', reason: 'pod-deleted' })
  expect(gone).not.toHaveProperty('engineMayReport')
  expect(readGonePod(pod({ phase: 'Running' }))).toMatchObject({ state: 'lost', reason: 'pod-deleted' })
  expect(readGonePod(pod(ended({ exitCode: 1 })))).toMatchObject({ reason: 'engine-lost' })
})

test('recognizes a daemon that an agent deletes to make room by its grace', () => {
  const leaving = (graceSeconds: number, { app = 'dind', ownGraceSeconds = 300, status = {} } = {}): KubeObject => {
    const { metadata, ...rest } = pod({ phase: 'Running', ...status }, { app, deleted: true })
    const spec = { terminationGracePeriodSeconds: ownGraceSeconds }
    return { ...rest, metadata: { ...metadata, deletionGracePeriodSeconds: graceSeconds }, spec }
  }
  const evicted = { conditions: [{ type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' }] }
  expect(isMakingRoom(leaving(ROOM_GRACE_SECONDS))).toBe(true)
  expect(isMakingRoom(leaving(ROOM_GRACE_SECONDS, { status: { phase: 'Failed' } }))).toBe(true)
  for (const graceSeconds of [0, 1, 5, 30]) expect(isMakingRoom(leaving(graceSeconds))).toBe(false)
  expect(isMakingRoom(leaving(ROOM_GRACE_SECONDS, { app: 'runtime' }))).toBe(false)
  expect(isMakingRoom(leaving(ROOM_GRACE_SECONDS, { ownGraceSeconds: ROOM_GRACE_SECONDS }))).toBe(false)
  expect(isMakingRoom(leaving(ROOM_GRACE_SECONDS, { status: evicted }))).toBe(false)
  expect(isMakingRoom(pod({ phase: 'Running' }, { app: 'dind' }))).toBe(false)
})

test('ignores pods that are not of a build', () => {
  expect(readPod({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } })).toBeUndefined()
})
