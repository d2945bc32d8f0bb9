/**
 * Creates the objects of an attempt in this order: first the Secret, because it owns the others and a kubelet that misses it retries after
 * a second; then the claim, until it is bound, because a pod that the scheduler sees earlier can wait for minutes; then the pods
 * (`place.ts`).
 */
import { fault, isFault, type Clock, type Logger } from '@windlass/kit'
import { isBeingDeleted, refOf, type Kube, type KubeObject as ClusterObject } from '@windlass/kube'
import { CLAIM_NOTE, LABEL, type KubeObject, type StartTask } from '@windlass/protocol'
import { claimNamesOf, untilBound, type DiskPool } from '@windlass/volumes'
import { z } from 'zod'
import type { AttemptRef, ReportFact } from '../executor.ts'
import { withExpiry } from './expiry.ts'
import type { Placer } from './place.ts'
import { untilGone } from './until-gone.ts'

export interface CreateOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  /** Undefined if the storage class provides the volumes. */
  readonly disks: DiskPool | undefined
  readonly placer: Placer
  readonly report: ReportFact
  /** Called when the disk of an attempt takes long. */
  readonly onStall?: (ref: AttemptRef) => void
}

/** An existing object with the same values of these labels belongs to the attempt. */
const SAME = [LABEL.build, LABEL.attempt]
/** Creates the missing objects of a task. Resolves when its pods have nodes. Throws faults with the message of Kubernetes. */
export async function createAttempt(options: CreateOptions, task: StartTask, signal: AbortSignal): Promise<void> {
  const objects = withExpiry(task.objects, options.clock.now())
  const ofKind = (kind: string): KubeObject[] => objects.filter((object) => object.kind === kind)
  const secrets: ClusterObject[] = []
  for (const secret of ofKind('Secret')) secrets.push(await apply(options, secret, signal))
  const owned = (object: KubeObject): KubeObject => withOwner(object, secrets[0])
  const pods = ofKind('Pod').map(owned)
  const isOnDisk = (pod: KubeObject): boolean => claimNamesOf(pod).length > 0
  const first = pods.filter(isOnDisk)
  const isBoundHere = options.disks !== undefined && task.disk !== undefined
  for (const wanted of ofKind('PersistentVolumeClaim').map(owned)) {
    const claim = await apply(options, isBoundHere ? withBinder(wanted) : wanted, signal)
    if (isBoundHere) await bindDisk(options, { task, pods: first, claim }, signal)
    else await awaitDisk(options, { task, claim }, signal)
  }
  const create = (pod: KubeObject): Promise<ClusterObject> => apply(options, pod, signal)
  const ref = { buildId: task.buildId, attempt: task.attempt }
  await options.placer.place(ref, { first, second: pods.filter((pod) => !isOnDisk(pod)), create }, signal)
}

interface ClaimPart {
  readonly task: StartTask
  /** The claim as returned by the cluster. */
  readonly claim: ClusterObject
}

interface DiskPart extends ClaimPart {
  /** The pods that mount the disk. */
  readonly pods: readonly KubeObject[]
}

/**
 * Creates an object. If its predecessor in the same attempt is still being deleted, waits until that one is gone. An agent that was interrupted
 * while it made room leaves such pods.
 */
async function apply({ kube, clock }: CreateOptions, object: KubeObject, signal: AbortSignal): Promise<ClusterObject> {
  try {
    return await kube.apply(object, SAME, signal).catch(async (error: unknown) => {
      if (!isBeingDeleted(error)) throw error
      await untilGone(refOf(object), { kube, clock, signal })
      return kube.apply(object, SAME, signal)
    })
  } catch (error) {
    if (isFault(error, 'cluster-refused', 'not-found', 'conflict'))
      throw fault('cluster-refused', { message: error.message, reason: 'pod-rejected' }, error)
    throw error
  }
}

/** Makes the Secret the owner of an object. If everything else fails, deleting the Secret lets Kubernetes delete the other objects. */
function withOwner(object: KubeObject, owner: ClusterObject | undefined): KubeObject {
  if (owner?.metadata.uid === undefined) return object
  const { apiVersion, kind, metadata } = owner
  return {
    ...object,
    metadata: { ...object.metadata, ownerReferences: [{ apiVersion, kind, name: metadata.name, uid: metadata.uid }] },
  }
}

/** Marks a claim so that a provisioner in the same cluster ignores it. */
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

/** Waits for a claim that a provisioner or Kubernetes itself binds. Reports the cause if that takes long. */
async function awaitDisk(
  { kube, clock, log, report, onStall }: CreateOptions,
  { task, claim }: ClaimPart,
  signal: AbortSignal,
): Promise<void> {
  const startedAt = clock.monotonic()
  const { buildId, attempt } = task
  const object = claim.metadata.name
  const onLate = (message: string): void => {
    onStall?.({ buildId, attempt })
    report({ buildId, attempt, object, state: 'waiting', reason: 'disk-unavailable', message: message.slice(0, 8192) })
  }
  await untilBound(claim, { kube, clock, signal, onLate })
  log.info({ buildId, attempt, claim: object, ms: Math.round(clock.monotonic() - startedAt) }, 'claim ready')
}
