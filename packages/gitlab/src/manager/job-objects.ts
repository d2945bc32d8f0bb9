/** The objects of a job in the cluster: a Secret with its program and record, which owns the pod and the logins of registries. */
import { isFault, retry, type Clock } from '@windlass/kit'
import { createOrAdopt, KubeObject, type Kube } from '@windlass/kube'
import { pack } from '../helper/program.ts'
import { LABELS, SECRET_KEYS } from './job-record.ts'
import type { JobPlan } from './job-plan.ts'

export interface ObjectsOptions {
  readonly kube: Kube
  readonly plan: JobPlan
  /** System ID of the manager. */
  readonly systemId: string
  /** Content of a `.dockerconfigjson`. */
  readonly logins: string | undefined
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Largest content of a Secret. Bytes. */
const MAX_SECRET = 1_000_000
/** How long an API server that is away is tried again. */
const RETRY = { baseMs: 200, maxMs: 5_000, tries: 30 }

export interface JobObjects {
  /** Creates the pod of a try of pull policies, after that of the one before was removed. */
  createPod(pullTry: number): Promise<void>
}

/** Creates the Secrets. Throws faults of the cluster, and an error for a job that is too large. */
export async function createObjects({ kube, plan, systemId, logins, clock, signal }: ObjectsOptions): Promise<JobObjects> {
  const { pod: name, namespace, program, record } = plan
  const labels = { [LABELS.job]: String(record.jobId), [LABELS.manager]: systemId }
  const data = { [SECRET_KEYS.program]: pack(program), [SECRET_KEYS.record]: pack(record) }
  const size = Object.values(data).reduce((sum, { length }) => sum + length, 0)
  if (size > MAX_SECRET)
    throw new Error(
      `the scripts and variables of the job have ${size} bytes when they are compressed, and a Secret holds ${MAX_SECRET}`,
    )
  const again = <T>(work: () => Promise<T>): Promise<T> =>
    retry({ ...RETRY, clock, signal, retryIf: (error) => isFault(error, 'cluster-unreachable') }, work)
  const create = async (object: unknown): Promise<KubeObject> => {
    const parsed = KubeObject.parse(object)
    const isSame = (existing: KubeObject): boolean => existing.metadata.labels?.[LABELS.job] === labels[LABELS.job]
    return (await again(() => createOrAdopt(kube, parsed, isSame, signal))).object
  }
  const secret = await create({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, namespace, labels },
    type: 'Opaque',
    data: Object.fromEntries(Object.entries(data).map(([key, bytes]) => [key, bytes.toString('base64')])),
  })
  const ownerReferences = [{ apiVersion: 'v1', kind: 'Secret', name, uid: secret.metadata.uid }]
  const pullSecret = `${name}-pull`
  if (logins !== undefined)
    await create({
      apiVersion: 'v1',
      kind: 'Secret',
      metadata: { name: pullSecret, namespace, ownerReferences },
      type: 'kubernetes.io/dockerconfigjson',
      stringData: { '.dockerconfigjson': logins },
    })
  const pullSecrets = logins === undefined ? [] : [pullSecret]
  return {
    async createPod(pullTry) {
      if (pullTry > 0) await again(() => kube.delete({ kind: 'Pod', name, namespace }, { graceSeconds: 0, signal }))
      const pod = KubeObject.parse(plan.render(pullTry, pullSecrets))
      await create({ ...pod, metadata: { ...pod.metadata, ownerReferences } })
    },
  }
}

export interface RemoveOptions {
  readonly kube: Kube
  readonly name: string
  readonly namespace: string
  /** True removes the pod without waiting for its processes. */
  readonly atOnce: boolean
  readonly clock: Clock
  readonly signal: AbortSignal
}

/** Time in which objects are removed. */
const REMOVE = { baseMs: 500, maxMs: 30_000, tries: 12 }

/** Removes the objects of a job. Throws faults of the cluster after all tries. */
export async function removeObjects({ kube, name, namespace, atOnce, clock, signal }: RemoveOptions): Promise<void> {
  await retry({ ...REMOVE, clock, signal, retryIf: (error) => isFault(error, 'cluster-unreachable') }, async () => {
    await kube.delete({ kind: 'Pod', name, namespace }, { signal, ...(atOnce && { graceSeconds: 0 }) })
    // Last: it is the record by which a manager finds what is left of a job. The logins of registries go with it.
    await kube.delete({ kind: 'Secret', name, namespace }, { signal })
  })
}
