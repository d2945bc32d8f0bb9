import type { KubeObject } from '@windlass/kube'
import { expect, test } from 'vitest'
import { readGonePod, readPod } from './read-pod.ts'

const BUILD = '65a1b2c3d4e5f60718293a4b'

function pod(status: Record<string, unknown>, more: { app?: string; deleted?: boolean } = {}): KubeObject {
  const labels = { 'windlass.io/build': BUILD, 'windlass.io/attempt': '2', app: more.app ?? 'runtime' }
  const deletion = more.deleted === true ? { deletionTimestamp: '2026-01-01T00:00:00Z' } : {}
  const spec = { containers: [{ ports: [{ name: 'docker', containerPort: 1300 }] }] }
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
  ['daemon ended', pod(ended({ exitCode: 137 }), { app: 'dind' }), { state: 'lost', reason: 'dind-lost' }],
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
])('a pod tells its attempt: %s', (_name, object, fact) => {
  expect(readPod(object)).toMatchObject({ buildId: BUILD, attempt: 2, object: 'engine-x', ...fact })
})

test('the address of the daemon is told as soon as the pod has one', () => {
  expect(readPod(pod({ phase: 'Pending', podIP: '10.1.2.3' }, { app: 'dind' }))).toMatchObject({
    state: 'starting',
    dockerHost: 'tcp://10.1.2.3:1300',
  })
  expect(readPod(pod({ phase: 'Running', podIP: 'fd00::7' }, { app: 'dind' }))).toMatchObject({
    dockerHost: 'tcp://[fd00::7]:1300',
  })
  expect(readPod(pod({ phase: 'Running', podIP: '10.1.2.3' }))).not.toHaveProperty('dockerHost')
})

test('a pod that is gone without an end was deleted; one that had ended keeps its cause', () => {
  expect(readGonePod(pod({ phase: 'Running' }))).toMatchObject({ state: 'lost', reason: 'pod-deleted' })
  expect(readGonePod(pod(ended({ exitCode: 1 })))).toMatchObject({ reason: 'engine-lost' })
})

test('pods that are not of a build are none of our business', () => {
  expect(readPod({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'x' } })).toBeUndefined()
})
