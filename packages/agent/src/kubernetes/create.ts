/**
 * Making the objects of an attempt: the Secret first, because it owns the others and pods that miss it wait for a second; then claim and
 * disk, because a pod that the scheduler sees before its claim is bound waits for a second too; then the pods (`place.ts`).
 */
import { fault, isFault, type Clock, type Logger } from '@windlass/kit'
import type { Kube, KubeObject as ClusterObject } from '@windlass/kube'
import { CLAIM_NOTE, LABEL, type KubeObject, type StartTask } from '@windlass/protocol'
import type { DiskPool } from '@windlass/volumes'
import { z } from 'zod'
import { claimsOf } from './claims.ts'
import type { Placer } from './place.ts'

export interface CreateOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  /** Undefined where the storage class makes its own volumes. */
  readonly disks: DiskPool | undefined
  readonly placer: Placer
}

/** An existing object with the same values for these is the one we meant. */
const SAME = [LABEL.build, LABEL.attempt]
/** Creates everything of a task that is not there yet; resolves when its pods have nodes. Throws the cluster's words. */
export async function createAttempt(options: CreateOptions, task: StartTask, signal: AbortSignal): Promise<void> {
  const ofKind = (kind: string): KubeObject[] => task.objects.filter((object) => object.kind === kind)
  const secrets: ClusterObject[] = []
  for (const secret of ofKind('Secret')) secrets.push(await apply(options, secret, signal))
  const owned = (object: KubeObject): KubeObject => withOwner(object, secrets[0])
  const pods = ofKind('Pod').map(owned)
  const isOnDisk = (pod: KubeObject): boolean => claimsOf(pod).length > 0
  const first = pods.filter(isOnDisk)
  const isBoundHere = options.disks !== undefined && task.disk !== undefined
  for (const claim of ofKind('PersistentVolumeClaim')
    .map(owned)
    .map((claim) => (isBoundHere ? withBinder(claim) : claim)))
    await bindDisk(options, { task, pods: first, claim: await apply(options, claim, signal) }, signal)
  const create = (pod: KubeObject): Promise<unknown> => apply(options, pod, signal)
  const ref = { buildId: task.buildId, attempt: task.attempt }
  await options.placer.place(ref, { first, second: pods.filter((pod) => !isOnDisk(pod)), create }, signal)
}

interface DiskPart {
  readonly task: StartTask
  /** The pods that mount the disk. */
  readonly pods: readonly KubeObject[]
  /** As the cluster has it. */
  readonly claim: ClusterObject
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

/** A provisioner in the same cluster leaves such a claim alone. */
function withBinder(claim: KubeObject): KubeObject {
  const annotations = { ...Annotations.parse(claim.metadata['annotations']), [CLAIM_NOTE.boundBy]: 'agent' }
  return { ...claim, metadata: { ...claim.metadata, annotations } }
}

const Annotations = z.record(z.string(), z.string()).default({})

async function bindDisk(
  { disks, log, clock }: CreateOptions,
  { task, pods, claim }: DiskPart,
  signal: AbortSignal,
): Promise<void> {
  if (disks === undefined || task.disk === undefined) return
  const startedAt = clock.monotonic()
  const runtime = claim.metadata.labels?.[LABEL.runtime] ?? ''
  const disk = await disks.bind({ request: task.disk, claim, pod: pods[0]?.metadata.name ?? '', runtime }, signal)
  log.info({ buildId: task.buildId, attempt: task.attempt, ...disk, ms: Math.round(clock.monotonic() - startedAt) }, 'disk bound')
}
