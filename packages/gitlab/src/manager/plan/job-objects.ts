/**
 * The objects of a job in the cluster. A Secret with its record is in the namespace of the manager. The Secret with its program and the variables of its services is
 * in the namespace of the pod, and is the same one if that is also the namespace of the manager. It owns the pod and the logins of registries.
 */
import { defined, isFault, retry, type Clock, type Fault } from '@windlass/kit'
import { createOrAdopt, KubeObject, type DeleteOptions, type Kube, type ObjectRef } from '@windlass/kube'
import { pack, type JobProgram } from '../../helper/program.ts'
import type { KubernetesSection } from '../../config/sections/kubernetes-section.ts'
import type { ApiRetry } from '../sites/api-retry.ts'
import { LABELS, SECRET_KEYS, type JobRecord } from '../records/job-record.ts'
import type { JobPlan } from './job-plan.ts'

export interface ObjectsOptions {
  readonly kube: Kube
  readonly plan: JobPlan
  readonly program: JobProgram
  /** Name of this process: see `instanceName`. */
  readonly instance: string
  /** Namespace of the manager. */
  readonly home: string
  /** Content of a `.dockerconfigjson`. */
  readonly logins: string | undefined
  readonly again: ApiRetry
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Largest content of a Secret. Bytes. */
const MAX_SECRET = 1_000_000
/** Waits for the service account of a new namespace, which Kubernetes creates a moment later. Milliseconds. */
const ACCOUNT = { baseMs: 200, maxMs: 2_000 }
const ACCOUNT_MS = 30_000

export interface JobObjects {
  /** Returns which manager the record names now. `none`: the record is gone. */
  owner(): Promise<'this' | 'other' | 'none'>
  /** Creates the pod of a try of pull policies, after that of the one before was removed. */
  createPod(pullTry: number): Promise<void>
}

/** Creates the Secrets, and before them the namespace of a job that has its own. Throws faults of the cluster, and an error for a job that is too large. */
export async function createObjects(options: ObjectsOptions): Promise<JobObjects> {
  const { kube, plan, program, instance, home, logins, again, signal } = options
  const { pod: name, namespace, record, serviceValues } = plan
  const forPod = {
    [SECRET_KEYS.program]: pack(program),
    ...Object.fromEntries(Object.entries(serviceValues).map(([key, value]) => [key, Buffer.from(value)] as const)),
  }
  const forManager = { [SECRET_KEYS.record]: pack(record) }
  const create = async (object: unknown, label: string, value: string): Promise<KubeObject> => {
    const parsed = KubeObject.parse(object)
    const isSame = (existing: KubeObject): boolean => existing.metadata.labels?.[label] === value
    return (await again(() => createOrAdopt(kube, parsed, isSame, signal))).object
  }
  const ofJob = (object: unknown): Promise<KubeObject> => create(object, LABELS.job, String(record.jobId))
  const ofPodOnly = (object: unknown): Promise<KubeObject> => create(object, LABELS.pod, name)
  const labels = { [LABELS.job]: String(record.jobId), [LABELS.manager]: instance }
  // Not the label of jobs: it tells managers of a namespace of a record.
  const marks = { [LABELS.pod]: name }
  let owner: KubeObject
  if (namespace === home) owner = await ofJob(secretOf({ name, namespace, labels }, { ...forPod, ...forManager }))
  else {
    // The record first: other managers find by it what there is elsewhere.
    await ofJob(secretOf({ name, namespace: home, labels }, forManager))
    if (record.ownsNamespace)
      await ofPodOnly({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace, labels: marks } })
    owner = await ofPodOnly(secretOf({ name, namespace, labels: marks }, forPod))
  }
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name, uid: owner.metadata.uid }]
  const pullSecret = `${name}-pull`
  if (logins !== undefined)
    await ofPodOnly({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: pullSecret, namespace, labels: marks, ownerReferences },
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': logins },
    })
  const pullSecrets = logins === undefined ? [] : [pullSecret]
  return {
    async owner() {
      const found = await again(() => kube.find({ kind: 'Secret', name, namespace: home }, signal))
      if (found === undefined || found.metadata.deletionTimestamp !== undefined) return 'none'
      return found.metadata.labels?.[LABELS.manager] === instance ? 'this' : 'other'
    },
    async createPod(pullTry) {
      if (pullTry > 0) await again(() => kube.delete({ kind: 'Pod', name, namespace }, { graceSeconds: 0, signal }))
      const pod = KubeObject.parse(plan.render(pullTry, pullSecrets))
      await whenAccountExists(options, () => ofJob({ ...pod, metadata: { ...pod.metadata, ownerReferences } }))
    },
  }
}

/** Returns a Secret. Throws an error if its content is too large. */
function secretOf(
  metadata: { readonly name: string; readonly namespace: string; readonly labels: Readonly<Record<string, string>> },
  data: Readonly<Record<string, Buffer>>,
): object {
  const size = Object.values(data).reduce((sum, { length }) => sum + length, 0)
  if (size > MAX_SECRET)
    throw new Error(
      `the scripts and variables of the job have ${size} bytes when they are compressed, and a Secret holds ${MAX_SECRET}; use fewer or smaller variables and scripts`,
    )
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata,
    type: 'Opaque',
    data: Object.fromEntries(Object.entries(data).map(([key, bytes]) => [key, bytes.toString('base64')])),
  }
}

/** Creates a pod. In a namespace that has just been created, it is refused until the service account exists. */
async function whenAccountExists(
  { plan, clock, signal }: Pick<ObjectsOptions, 'plan' | 'clock' | 'signal'>,
  create: () => Promise<unknown>,
): Promise<void> {
  const until = clock.monotonic() + ACCOUNT_MS
  const retryIf = (error: unknown): boolean =>
    plan.record.ownsNamespace &&
    isFault(error, 'cluster-refused') &&
    /serviceaccount "[^"]*" not found/.test(error.message) &&
    clock.monotonic() < until
  await retry({ ...ACCOUNT, clock, signal, retryIf }, create)
}

export interface RemoveOptions {
  readonly kube: Kube
  readonly record: Pick<JobRecord, 'pod' | 'namespace' | 'ownsNamespace'>
  /** Namespace of the record. */
  readonly home: string
  readonly section: Pick<KubernetesSection, 'cleanup_grace_period_seconds' | 'cleanup_resources_timeout'>
  /** True removes the pod without waiting for its processes. */
  readonly atOnce: boolean
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Waits between two tries to remove objects. */
const REMOVE = { baseMs: 500, maxMs: 30_000 }
/** Default of `cleanup_resources_timeout`. Milliseconds. */
const CLEANUP_MS = 5 * 60_000

/** How long a refusal is tried again, which a change of rights can end. Milliseconds. */
const REFUSED_MS = 30_000

/**
 * Removes the objects of a job. Throws faults of the cluster when the time for it is over; the record is still there then. What the account may not remove in another
 * namespace stays there, because rights go with a namespace: the pod ends by its deadline, and the record would be found again for ever. Returns that refusal.
 */
export async function removeObjects({
  kube,
  record,
  home,
  section,
  atOnce,
  clock,
  signal,
}: RemoveOptions): Promise<Fault | undefined> {
  const { pod: name, namespace = home, ownsNamespace } = record
  const until = clock.monotonic() + (section.cleanup_resources_timeout || CLEANUP_MS)
  const refusedUntil = Math.min(until, clock.monotonic() + REFUSED_MS)
  const retryIf = (error: unknown): boolean =>
    clock.monotonic() < (isFault(error, 'cluster-refused') ? refusedUntil : isFault(error, 'cluster-unreachable') ? until : 0)
  let refused: Fault | undefined
  const remove = async (ref: ObjectRef, more: DeleteOptions = {}): Promise<void> => {
    try {
      await kube.delete(ref, { signal, ...more })
    } catch (error) {
      if (namespace === home || !isFault(error, 'cluster-refused') || clock.monotonic() < refusedUntil) throw error
      refused = error
    }
  }
  const graceSeconds = atOnce ? 0 : section.cleanup_grace_period_seconds
  await retry({ ...REMOVE, clock, signal, retryIf }, async () => {
    await remove({ kind: 'Pod', name, namespace }, defined({ graceSeconds }))
    // The logins of registries go with it.
    if (namespace !== home) await remove({ kind: 'Secret', name, namespace })
    if (ownsNamespace) {
      const own = await kube.find({ kind: 'Namespace', name: namespace }, signal)
      // One of this name that another manager or a user has made stays.
      if (own?.metadata.labels?.[LABELS.pod] === name)
        await remove({ kind: 'Namespace', name: namespace }, defined({ uid: own.metadata.uid }))
    }
    // Last: it has the record by which a manager finds what is left of a job.
    await kube.delete({ kind: 'Secret', name, namespace: home }, { signal })
  })
  return refused
}
