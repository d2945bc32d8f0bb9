/**
 * Making the objects of an attempt, as much at once as their order allows: the Secret first, because it owns the others and pods that
 * miss it wait for a second; then the engine pod, and beside it disk, claim and, once that is bound, the dind pod. A dind pod that the
 * scheduler sees before its claim is bound would wait for a second too.
 */
import { fault, isFault, type Clock, type Logger } from '@windlass/kit'
import type { Kube, KubeObject as ClusterObject } from '@windlass/kube'
import { LABEL, type KubeObject, type StartTask } from '@windlass/protocol'
import { claimsOf } from './claims.ts'
import type { DiskPool } from './disk.ts'

export interface CreateOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  /** Undefined where the storage class makes its own volumes. */
  readonly disks: DiskPool | undefined
}

/** An existing object with the same values for these is the one we meant. */
const SAME = [LABEL.build, LABEL.attempt]
/** Creates everything of a task that is not there yet. Throws the cluster's words. */
export async function createAttempt(options: CreateOptions, task: StartTask, signal: AbortSignal): Promise<void> {
  const ofKind = (kind: string): KubeObject[] => task.objects.filter((object) => object.kind === kind)
  const secrets: ClusterObject[] = []
  for (const secret of ofKind('Secret')) secrets.push(await apply(options, secret, signal))
  const owned = (object: KubeObject): KubeObject => withOwner(object, secrets[0])
  const pods = ofKind('Pod')
  const isOnDisk = (pod: KubeObject): boolean => claimsOf(pod).length > 0
  await Promise.all([
    ...pods.filter((pod) => !isOnDisk(pod)).map((pod) => apply(options, owned(pod), signal)),
    createOnDisk(
      options,
      { task, claims: ofKind('PersistentVolumeClaim').map(owned), pods: pods.filter(isOnDisk).map(owned) },
      signal,
    ),
  ])
}

interface DiskPart {
  readonly task: StartTask
  readonly claims: readonly KubeObject[]
  readonly pods: readonly KubeObject[]
}

async function createOnDisk(options: CreateOptions, part: DiskPart, signal: AbortSignal): Promise<void> {
  for (const claim of part.claims) await bindDisk(options, part, { claim: await apply(options, claim, signal), signal })
  await Promise.all(part.pods.map((pod) => apply(options, pod, signal)))
}

async function apply(options: CreateOptions, object: KubeObject, signal: AbortSignal): Promise<ClusterObject> {
  return options.kube.apply(object, SAME, signal).catch((error: unknown) => {
    if (isFault(error, 'cluster-refused', 'not-found', 'conflict'))
      throw fault('cluster-refused', { message: error.message, reason: 'pod-rejected' }, error)
    throw error
  })
}

/** The Secret owns the rest: should everything else fail, deleting it lets Kubernetes delete them. */
function withOwner(object: KubeObject, owner: ClusterObject | undefined): KubeObject {
  if (owner?.metadata.uid === undefined) return object
  const { apiVersion, kind, metadata } = owner
  return {
    ...object,
    metadata: { ...object.metadata, ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid }] },
  }
}

async function bindDisk(
  { disks, log, clock }: CreateOptions,
  { task, pods }: DiskPart,
  { claim, signal }: { claim: ClusterObject; signal: AbortSignal },
): Promise<void> {
  if (disks === undefined || task.disk === undefined) return
  const startedAt = clock.monotonic()
  const runtime = claim.metadata.labels?.[LABEL.runtime] ?? ''
  const disk = await disks.bind({ request: task.disk, claim, pod: pods[0]?.metadata.name ?? '', runtime }, signal)
  log.info({ buildId: task.buildId, attempt: task.attempt, ...disk, ms: Math.round(clock.monotonic() - startedAt) }, 'disk bound')
}
