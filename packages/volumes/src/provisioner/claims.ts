/**
 * Binds claims to disks. A claim of one of our classes that nothing else binds gets the best free disk or a new one. Called for every
 * change of the claim, its class and its pod, and on every resync; each call starts from the current state.
 */
import { fault } from '@windlass/kit'
import type { KubeObject } from '@windlass/kube'
import { CLAIM_NOTE, LABEL } from '@windlass/protocol'
import type { Backend } from '../backends/backend.ts'
import { TAG } from '../backends/backend.ts'
import { overlooksClaim, TOUCH_MS, touchClaims } from '../pool/bound.ts'
import { confirmDisk, isClaimed, openDiskPool, type Disk, type DiskPool } from '../pool/disk.ts'
import { claimKey, type DiskMaker } from '../pool/maker.ts'
import { NOTE } from '../pool/notes.ts'
import { acceptsPod, isWithinReach, Placement, ZONE_LABEL, zoneAskedFor } from '../pool/placement.ts'
import { placementOf, requestOf, type Claim } from '../pool/request.ts'
import type { Volume } from '../pool/volume.ts'
import { whyNewDisk } from '../pool/why-new.ts'
import { messageOf } from './events.ts'
import { backendOf, classOf, type DiskClass, type Parts } from './parts.ts'
import { keyOf } from './view.ts'
import type { DiskClaim } from '../pool/claim.ts'

/** Set by the scheduler on claims of classes with `WaitForFirstConsumer`. */
const SELECTED_NODE = 'volume.kubernetes.io/selected-node'
/** How long a claim without a placement annotation waits for its pod, which then provides the placement. Milliseconds. */
const POD_TIMEOUT_MS = 1_000
const POD_POLL_MS = 100

export interface Claims {
  /** Reconciles one claim. A returned number asks to be called again after so many milliseconds. */
  reconcile(key: string): Promise<number | void>
  /** Writes an event on the claim with the cause of the failure. */
  reportFailure(key: string, error: unknown): void
}

/** Opens the handler of claims, whose pool makes one choice at a time. */
export function openClaims(parts: Parts, signal: AbortSignal): Claims {
  const firstSeen = new Map<string, number>()
  const pool = openDiskPool({
    kube: parts.kube,
    clock: parts.clock,
    maker: backendMaker(parts),
    known: () => [...parts.view.volumes.values()],
    isWithinReach: async (volume, claim) => isReachable(parts, volume, claim),
  })
  return {
    async reconcile(key) {
      const claim = parts.view.claims.get(key)
      if (claim === undefined) return void firstSeen.delete(key)
      if (claim.spec.volumeName !== '' && claim.status.phase === 'Bound') {
        firstSeen.delete(key)
        await confirmBound(parts, claim, signal)
        await noteKept(parts, claim)
        return touchForScheduler(parts, claim)
      }
      const diskClass = classOf(parts, claim.spec.storageClassName)
      if (diskClass === undefined || isHandledElsewhere(claim)) return
      checkClaim(claim)
      const pod = parts.view.podOf(key)
      const placement = placementOf(claim) ?? (pod === undefined ? undefined : Placement.parse(pod.spec))
      const now = parts.clock.monotonic()
      const seen = firstSeen.get(key) ?? now
      firstSeen.set(key, seen)
      if (placement === undefined && now - seen < POD_TIMEOUT_MS) return POD_POLL_MS
      const object: KubeObject = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claim }
      const wanted = { request: requestOf(claim), claim: object, runtime: runtimeOf(claim), placement }
      const bound = await bindClaim(
        parts,
        { pool, diskClass, claim: { ...wanted, pod: pod?.metadata.name ?? podNameOf(claim) } },
        signal,
      )
      if (bound === undefined) return
      parts.counts[bound.reused ? 'reused' : 'created'] += 1
    },
    reportFailure(key, error) {
      const claim = parts.view.claims.get(key)
      parts.counts.failed += 1
      const message = messageOf(error)
      if (claim === undefined || message === undefined) return
      void parts.events.write(
        { kind: 'PersistentVolumeClaim', metadata: claim.metadata },
        { reason: 'ProvisioningFailed', message },
      )
    },
  }
}

interface Binding {
  readonly pool: DiskPool
  readonly diskClass: DiskClass
  readonly claim: DiskClaim
}

/** Binds a claim. Returns undefined if it waits for its pod to be scheduled. */
async function bindClaim(parts: Parts, { pool, diskClass, claim }: Binding, signal: AbortSignal): Promise<Disk | undefined> {
  const startedAt = parts.clock.monotonic()
  requireZone(diskClass, backendOf(parts, diskClass), claim)
  const waits = diskClass.volumeBindingMode === 'WaitForFirstConsumer' && selectedNode(parts, claim) === undefined
  const subject = { kind: 'PersistentVolumeClaim', metadata: claim.claim.metadata }
  // A warm disk is preferred to the node that the scheduler would choose; the location of a new disk is left to the scheduler.
  const disk = waits ? await pool.reuse(claim, signal) : await pool.bind(claim, signal)
  if (disk === undefined) {
    const why = whyNewDisk([...parts.view.volumes.values()], claim, parts.clock.now())
    await parts.events.write(subject, {
      reason: 'WaitForPodScheduled',
      message: `${why} A new disk is created where the pod is scheduled.`,
    })
    return undefined
  }
  const ms = Math.round(parts.clock.monotonic() - startedAt)
  parts.log.info({ claim: keyOf(claim.claim.metadata), ...disk, ms }, 'disk bound')
  const created = `${disk.whyNew ?? ''} Created the disk ${disk.volume}.`.trimStart()
  const message = disk.reused ? `Reuses the disk ${disk.volume}.` : created
  void parts.events.write(subject, { reason: 'ProvisioningSucceeded', message })
  return disk
}

/** Creates disks with the backend of the claim's class, with tags by which a disk is found again after a crash. */
function backendMaker(parts: Parts): DiskMaker {
  return {
    async make(claim, signal) {
      const diskClass = classOf(parts, claim.request.storageClassName)
      if (diskClass === undefined)
        throw fault('not-found', { message: `The storage class ${claim.request.storageClassName} no longer exists.` })
      const backend = backendOf(parts, diskClass)
      const key = claimKey(claim)
      const node = selectedNode(parts, claim) ?? (backend.needsNode ? anyNode(parts, claim) : undefined)
      const labels = claim.request.labels
      const tags = {
        [TAG.key]: key,
        [TAG.owner]: parts.owner,
        Name: `dind-volume-${key}`,
        ...Object.fromEntries(
          [LABEL.account, LABEL.pipeline].flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]]])),
        ),
      }
      const made = await backend.make({ key, sizeBytes: claim.request.sizeBytes, tags, node }, signal)
      return { ...made, annotations: { ...made.annotations, [NOTE.provisionedBy]: parts.provisionerName } }
    },
  }
}

function selectedNode({ view }: Parts, { claim }: DiskClaim): KubeObject | undefined {
  return view.nodes.get(claim.metadata.annotations?.[SELECTED_NODE] ?? '')
}

/** Chooses a node for a disk whose pod is not scheduled yet: the one with the fewest disks of those that accept the pod. */
function anyNode({ view }: Parts, { placement }: DiskClaim): KubeObject | undefined {
  const disksOn = new Map<string, number>()
  for (const { metadata } of view.volumes.values()) {
    const node = metadata.annotations[NOTE.node]
    if (node !== undefined) disksOn.set(node, (disksOn.get(node) ?? 0) + 1)
  }
  return [...view.nodes.values()]
    .filter((node) => acceptsPod(node, placement))
    .toSorted((a, b) => (disksOn.get(a.metadata.name) ?? 0) - (disksOn.get(b.metadata.name) ?? 0))[0]
}

function isReachable({ view }: Parts, volume: Volume, { placement }: DiskClaim): boolean {
  return [...view.nodes.values()].some((node) => isWithinReach(volume, node) && acceptsPod(node, placement))
}

function isHandledElsewhere({ metadata }: Claim): boolean {
  return metadata.annotations[CLAIM_NOTE.boundBy] !== undefined || metadata.deletionTimestamp !== undefined
}

/** Refuses claims that no disk of a build can satisfy. */
function checkClaim({ spec }: Claim): void {
  const refuse = (message: string): never => {
    throw fault('storage-refused', { message })
  }
  const foreign = spec.accessModes.find((mode) => mode !== 'ReadWriteOnce')
  if (foreign !== undefined) refuse(`The access mode ${foreign} is not supported; use ReadWriteOnce.`)
  if (spec.volumeMode !== 'Filesystem') refuse(`The volume mode ${spec.volumeMode} is not supported; use Filesystem.`)
  if (spec.dataSource !== undefined) refuse('A data source is not supported; disks start empty.')
}

/** Refuses a pod that must be in another zone than its disk, because it would wait forever. */
function requireZone({ metadata }: DiskClass, backend: Backend, { placement }: DiskClaim): void {
  const asked = zoneAskedFor(placement)
  if (backend.zone === undefined || asked === undefined || asked === backend.zone) return
  throw fault('storage-refused', {
    message:
      `Disks of the class ${metadata.name} are in zone ${backend.zone}, but the pod of the build asks for nodes with ` +
      `${ZONE_LABEL}=${asked}. Use a class of that zone, or select nodes of ${backend.zone}.`,
  })
}

/** Confirms the disk of a bound claim if the process that created it could not. */
async function confirmBound({ kube, view }: Parts, { spec, metadata: { uid } }: Claim, signal: AbortSignal): Promise<void> {
  const volume = view.volumes.get(spec.volumeName)
  if (volume?.metadata.annotations[NOTE.unconfirmed] === undefined || volume.spec.claimRef?.uid !== uid) return
  if (await isClaimed(kube, volume, signal)) await confirmDisk(kube, volume, signal)
}

/** Copies the time until which a disk is kept for its build from the claim to the volume, and confirms it on the claim. */
async function noteKept({ kube, view }: Parts, claim: Claim): Promise<void> {
  const { annotations, uid } = claim.metadata
  const until = annotations[CLAIM_NOTE.keepUntil]
  if (until === undefined || annotations[CLAIM_NOTE.kept] === until) return
  const volume = view.volumes.get(claim.spec.volumeName)
  if (volume === undefined || volume.spec.claimRef?.uid !== uid) return
  const { name, resourceVersion } = volume.metadata
  await kube.patch(
    { kind: 'PersistentVolume', name },
    { metadata: { resourceVersion, annotations: { [NOTE.keptUntil]: until } } },
  )
  const ref = { kind: 'PersistentVolumeClaim', namespace: claim.metadata.namespace, name: claim.metadata.name } as const
  await kube.patch(ref, { metadata: { annotations: { [CLAIM_NOTE.kept]: until } } })
}

/** Touches a claim for agents that do not; the public agent creates a pod before its claim is bound. */
async function touchForScheduler(parts: Parts, { metadata }: Claim): Promise<number | void> {
  const pod = parts.view.podOf(keyOf(metadata))
  if (pod === undefined || !overlooksClaim(pod)) return
  await touchClaims(parts, pod)
  return TOUCH_MS
}

function runtimeOf({ metadata }: Claim): string {
  return metadata.labels[LABEL.runtime] ?? ''
}

/** Returns the name of the pod. Claims are named after their pods: `pvc-dind-<build>` belongs to `dind-<build>`. */
function podNameOf({ metadata }: Claim): string {
  return metadata.name.replace(/^pvc-/, '').slice(0, 63)
}
