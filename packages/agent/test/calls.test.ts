/** How many calls of the Kubernetes API an attempt takes. */
import { silentLog, systemClock, type Clock } from '@windlass/kit'
import { expect, test } from 'vitest'
import { kubernetesExecutor } from '../src/index.ts'
import { BUILD, policyWith, startTask } from './support/attempt-objects.ts'
import { openFakeKube, type FakeKube } from './support/fake-kube.ts'
import { until } from './support/v1-scene.ts'

const signal = new AbortController().signal
const CLAIM = `persistentvolumeclaims/pvc-dind-${BUILD}`

/** Time passes a hundred times slower: the agent looks by itself only after seconds without a change, which a busy machine may take here. */
const slowClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now() / 100,
  sleep: (ms, signal) => systemClock.sleep(ms * 100, signal),
}

/** Plays what provisioner, scheduler and kubelet do while an attempt starts. */
async function play(kube: FakeKube): Promise<void> {
  await until('a claim', () => kube.objects.has(CLAIM))
  const { metadata, spec: wanted } = kube.objects.get(CLAIM) ?? {}
  const annotations = { 'pv.kubernetes.io/bind-completed': 'yes' }
  const claim = { metadata: { ...(metadata as object), annotations }, spec: { ...(wanted as object), volumeName: 'disk' } }
  await until('a watch of the claim', () => kube.calls.filter(({ line }) => line === 'GET persistentvolumeclaims/').length === 2)
  kube.change(CLAIM, claim)
  for (const app of ['dind', 'engine']) {
    const key = `pods/${app}-${BUILD}`
    await until(key, () => kube.objects.has(key))
    const spec = { ...(kube.objects.get(key)?.['spec'] as object), nodeName: 'node-1' }
    for (const state of [undefined, { waiting: { reason: 'ContainerCreating' } }, { running: {} }]) {
      const containerStatuses = state === undefined ? [] : [{ name: app, state }]
      const phase = state?.running === undefined ? 'Pending' : 'Running'
      kube.change(key, { spec, status: { phase, containerStatuses } })
    }
  }
}

/** Lets the kubelet take a few status changes to end the pods. */
function endSlowly(kube: FakeKube): void {
  kube.intercept = ({ line, method, name }) => {
    if (method !== 'DELETE' || !line.includes('pods/')) return undefined
    const key = `pods/${name}`
    const { metadata } = kube.objects.get(key) ?? {}
    const deletion = { deletionTimestamp: '2026-01-01T00:00:00Z', deletionGracePeriodSeconds: 5 }
    const ending = { metadata: { ...(metadata as object), ...deletion } }
    for (let n = 0; n < 4; n += 1) setTimeout(() => kube.change(key, { ...ending, note: n }), 40 * n)
    setTimeout(() => kube.remove(key), 200)
    return { status: 200 }
  }
}

test('a start takes a call per object and three for the disk, and a stop reads no pod', async () => {
  await using kube = await openFakeKube()
  const task = startTask()
  const open = kubernetesExecutor({ kube: kube.kube(), policy: policyWith(), starts: { perCore: 1 } })
  const executor = open({ report: () => undefined, clock: slowClock, log: silentLog })
  try {
    await until('the watch', () => kube.calls.length === 2)
    kube.calls.length = 0
    await Promise.all([executor.start(task, signal), play(kube)])
    const started = kube.calls.splice(0).map(({ line }) => line.replaceAll(BUILD, 'ID'))
    expect(started).toEqual([
      'GET nodes/',
      'POST secrets/engine-ID',
      'POST persistentvolumeclaims/pvc-dind-ID',
      'GET storageclasses/dind-local-volumes-runner-windlass',
      'GET persistentvolumeclaims/',
      'GET persistentvolumeclaims/',
      'POST pods/dind-ID',
      'POST pods/engine-ID',
    ])
    endSlowly(kube)
    await executor.stop({ ...task, kind: 'stop-attempt', graceMs: 0 }, signal)
    const stopped = kube.calls.map(({ line }) => line.replaceAll(BUILD, 'ID'))
    expect(stopped.filter((line) => line.startsWith('DELETE')).toSorted()).toEqual([
      'DELETE persistentvolumeclaims/pvc-dind-ID',
      'DELETE pods/dind-ID',
      'DELETE pods/engine-ID',
      'DELETE secrets/engine-ID',
    ])
    // A list of each kind to find the objects, and one to show that none is left.
    expect(stopped.filter((line) => line.startsWith('GET'))).toHaveLength(6)
  } finally {
    await executor.close()
  }
})
