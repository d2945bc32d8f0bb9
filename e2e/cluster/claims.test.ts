/** The order of disk and pod: an agent creates a pod when its claim is bound, whatever binds it. This test sends the tasks. */
import { kubernetesExecutor, type Executor, type Fact } from '@windlass/agent'
import { newId, silentLog, systemClock } from '@windlass/kit'
import { openKube, readKubeconfig, type Kube, type KubeObject } from '@windlass/kube'
import { CLAIM_NOTE, LABEL, type StartTask } from '@windlass/protocol'
import { isBound, overlooksClaim } from '@windlass/volumes'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { startCluster, type Cluster } from '../support/cluster.ts'
import { ensureImages } from '../support/images.ts'
import { policyWith } from '../../packages/agent/test/support/attempt-objects.ts'
import { eventually } from '../support/installation.ts'

const NAMESPACE = `claims-${process.pid}`
/** These classes have no provisioner: the test binds. */
const CLASS = { immediate: `${NAMESPACE}-immediate`, late: `${NAMESPACE}-late` } as const
let cluster: Cluster
let kube: Kube
let image: string

beforeAll(async () => {
  const images = await ensureImages('shell')
  image = images['SHELL_IMAGE'] ?? ''
  cluster = await startCluster()
  await cluster.load(image)
  kube = openKube({ access: await readKubeconfig(cluster.kubeconfig), log: silentLog })
  const storageClass = (name: string, volumeBindingMode: string): object => ({
    apiVersion: 'storage.k8s.io/v1',
    kind: 'StorageClass',
    metadata: { name },
    provisioner: 'windlass.io/none',
    volumeBindingMode,
  })
  await cluster.apply(
    { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACE } },
    storageClass(CLASS.immediate, 'Immediate'),
    storageClass(CLASS.late, 'WaitForFirstConsumer'),
  )
  await eventually('the namespace has its service account', () =>
    kube.find({ kind: 'ServiceAccount', namespace: NAMESPACE, name: 'default' }),
  )
})
afterAll(async () => {
  kube?.close()
  await cluster?.kubectl('delete', 'storageclass', CLASS.immediate, CLASS.late, '--ignore-not-found')
  await cluster?.kubectl('delete', 'namespace', NAMESPACE, '--wait=false')
})

function openExecutor(): { readonly executor: Executor; readonly facts: Fact[] } {
  const facts: Fact[] = []
  const policy = policyWith({ POLICY: 'permissive', SERVICE_ACCOUNTS: 'default' }, [NAMESPACE])
  const report = (fact: Fact): void => void facts.push(fact)
  const executor = kubernetesExecutor({ kube, policy, starts: { perCore: 1 } })({ report, clock: systemClock, log: silentLog })
  onTestFinished(() => executor.close())
  return { executor, facts }
}

/** Returns an attempt with a claim and the pod that mounts it. */
function attemptOn(storageClassName: string): { readonly task: StartTask; readonly pod: KubeObject; readonly claim: string } {
  const buildId = newId(Date.now())
  const labels = { [LABEL.build]: buildId, [LABEL.attempt]: '1', [LABEL.app]: 'dind' }
  const claim = `pvc-${buildId}`
  const pod: KubeObject = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: `dind-${buildId}`, namespace: NAMESPACE, labels },
    spec: {
      restartPolicy: 'Never',
      automountServiceAccountToken: false,
      terminationGracePeriodSeconds: 1,
      containers: [{ name: 'one', image, imagePullPolicy: 'Never', command: ['sleep', '60'] }],
      volumes: [{ name: 'dind', persistentVolumeClaim: { claimName: claim } }],
    },
  }
  const claimObject: KubeObject = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: claim, namespace: NAMESPACE, labels },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName, resources: { requests: { storage: '1Gi' } } },
  }
  const task: StartTask = {
    kind: 'start-attempt',
    id: newId(Date.now()),
    revision: 1,
    buildId,
    attempt: 1,
    runtime: NAMESPACE,
    leaseMs: 60_000,
    engine: { bootstrap: 'none', serverUrl: 'http://127.0.0.1:1' },
    objects: [claimObject, pod],
  }
  return { task, pod, claim }
}

/** Creates a volume for a claim; Kubernetes binds the two. */
async function bindByVolume(claim: string, storageClassName: string): Promise<void> {
  await cluster.apply({
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name: claim },
    spec: {
      accessModes: ['ReadWriteOnce'],
      capacity: { storage: '1Gi' },
      storageClassName,
      persistentVolumeReclaimPolicy: 'Retain',
      hostPath: { path: '/tmp' },
      claimRef: { namespace: NAMESPACE, name: claim },
    },
  })
  onTestFinished(async () => void (await cluster.kubectl('delete', 'persistentvolume', claim, '--wait=false')))
}

/** Revisions of the cluster, which grow with each write of any object. */
interface Revisions {
  /** When the claim was bound. */
  bound?: number
  /** When the pod was created. */
  created?: number
}

/** Follows the claim and the pod of an attempt until the test ends. */
function followRevisions({ buildId }: StartTask): Revisions {
  const seen: Revisions = {}
  const over = new AbortController()
  onTestFinished(() => over.abort())
  const follow = async (
    kind: 'Pod' | 'PersistentVolumeClaim',
    note: (object: KubeObject, revision: number) => void,
  ): Promise<void> => {
    const selection = { kind, namespace: NAMESPACE, labels: `${LABEL.build}=${buildId}` }
    for await (const change of kube.watch(selection, { signal: over.signal }))
      if (change.type === 'set') note(change.object, Number(change.object.metadata.resourceVersion))
  }
  void follow('PersistentVolumeClaim', (claim, revision) => {
    if (isBound(claim)) seen.bound ??= revision
  })
  void follow('Pod', (_pod, revision) => {
    seen.created ??= revision
  })
  return seen
}

const podRef = (pod: KubeObject) => ({ kind: 'Pod', namespace: NAMESPACE, name: pod.metadata.name }) as const

test('creates a pod when its claim is bound, and reports why a disk is late', async () => {
  const { executor, facts } = openExecutor()
  const { task, pod, claim } = attemptOn(CLASS.immediate)
  const seen = followRevisions(task)
  const over = new AbortController()
  onTestFinished(() => over.abort())
  const started = executor.start(task, over.signal)
  started.catch(() => undefined)
  const late = await eventually('the agent reports the reason', async () => facts.find(({ state }) => state === 'waiting'))
  expect(late).toMatchObject({ buildId: task.buildId, object: claim, reason: 'disk-unavailable' })
  expect(late.message).toMatch(/ExternalProvisioning|waiting for a volume|The claim is not bound/i)
  expect(await kube.find(podRef(pod))).toBeUndefined()
  await bindByVolume(claim, CLASS.immediate)
  await started
  // The scheduler follows pods and claims separately. If it learns of the pod first, the claim is touched before the pod gets its node.
  const nodeOf = async (): Promise<string | undefined> =>
    ((await kube.find(podRef(pod))) as { spec?: { nodeName?: string } } | undefined)?.spec?.nodeName
  await expect.poll(nodeOf).toBeDefined()
  const bound = await eventually('the claim is seen', async () => seen.bound)
  expect(await eventually('the pod is seen', async () => seen.created)).toBeGreaterThan(bound)
  await executor.stop({ ...task, kind: 'stop-attempt', graceMs: 0 }, over.signal)
})

test('ends a start that waits for a disk when the attempt is stopped, and leaves no objects', async () => {
  const { executor } = openExecutor()
  const { task, pod, claim } = attemptOn(CLASS.immediate)
  const over = new AbortController()
  const started = executor.start(task, over.signal)
  const ended = expect(started).rejects.toMatchObject({ name: 'AbortError' })
  const claimRef = { kind: 'PersistentVolumeClaim', namespace: NAMESPACE, name: claim } as const
  await eventually('the claim exists', () => kube.find(claimRef))
  over.abort()
  await ended
  await executor.stop({ ...task, kind: 'stop-attempt', graceMs: 0 }, new AbortController().signal)
  expect(await kube.find(claimRef)).toBeUndefined()
  expect(await kube.find(podRef(pod))).toBeUndefined()
})

test('does not wait for a claim that is bound only after its pod was scheduled', async () => {
  const { executor } = openExecutor()
  const { task, pod, claim } = attemptOn(CLASS.late)
  const over = new AbortController()
  onTestFinished(() => over.abort())
  const started = executor.start(task, over.signal)
  started.catch(() => undefined)
  await eventually('the pod exists', () => kube.find(podRef(pod)))
  await bindByVolume(claim, CLASS.late)
  await started
  await executor.stop({ ...task, kind: 'stop-attempt', graceMs: 0 }, over.signal)
})

test('touches a bound claim that the scheduler overlooked, so that its pod is retried', async () => {
  const { task, pod, claim } = attemptOn(CLASS.immediate)
  const [claimObject] = task.objects
  await cluster.apply(claimObject ?? {})
  await bindByVolume(claim, CLASS.immediate)
  await eventually('the claim is bound', async () => {
    const phase = await cluster.kubectl(
      '--namespace',
      NAMESPACE,
      'get',
      'persistentvolumeclaim',
      claim,
      '--output',
      'jsonpath={.status.phase}',
    )
    return phase === 'Bound' ? true : undefined
  })
  // There is no scheduler here: the test refuses the pod with the message of the real one.
  const spec = { ...(pod['spec'] as object), schedulerName: 'none' }
  await kube.create({ ...pod, spec })
  const refusal = {
    type: 'PodScheduled',
    status: 'False',
    reason: 'Unschedulable',
    message: 'pod has unbound immediate PersistentVolumeClaims',
  }
  await kube.patch(podRef(pod), { status: { conditions: [refusal] } }, { part: 'status' })
  expect(overlooksClaim((await kube.find(podRef(pod))) ?? {})).toBe(true)
  openExecutor()
  const touched = await eventually('the claim is touched', async () => {
    const found = await kube.find({ kind: 'PersistentVolumeClaim', namespace: NAMESPACE, name: claim })
    return found?.metadata.annotations?.[CLAIM_NOTE.touched]
  })
  expect(Date.parse(touched)).toBeGreaterThan(0)
  await kube.delete(podRef(pod), { graceSeconds: 0 })
  await kube.delete({ kind: 'PersistentVolumeClaim', namespace: NAMESPACE, name: claim })
})
