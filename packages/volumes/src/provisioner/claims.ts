/**
 * From a claim to a disk (runner specification 5.4): claims of our classes that nobody else binds get the best free disk, or a new one.
 * Called again for every change of the claim, its class and its pod, and every resync; each call begins from the facts.
 */
import { fault } from '@windlass/kit'
import type { KubeObject } from '@windlass/kube'
import { CLAIM_NOTE, LABEL } from '@windlass/protocol'
import type { Backend } from '../backends/backend.ts'
import { TAG } from '../backends/backend.ts'
import { REFUSALS, refusalOf, type Refusal } from '../pool/choose-disk.ts'
import { openDiskPool, type Disk, type DiskClaim, type DiskPool } from '../pool/disk.ts'
import { claimKey, type DiskMaker } from '../pool/maker.ts'
import { NOTE } from '../pool/notes.ts'
import { acceptsPod, isWithinReach, Placement, ZONE_LABEL, zoneAskedFor } from '../pool/placement.ts'
import { placementOf, requestOf, type Claim } from '../pool/request.ts'
import type { Volume } from '../pool/volume.ts'
import { wordsOf } from './events.ts'
import { backendOf, classOf, type DiskClass, type Parts } from './parts.ts'
import { keyOf } from './view.ts'

/** Set by the scheduler on claims of classes with `WaitForFirstConsumer`. */
const SELECTED_NODE = 'volume.kubernetes.io/selected-node'
/** A claim that does not say what its pod asks for waits so long for the pod to say it. */
const POD_PATIENCE_MS = 1_000
const POD_LOOK_MS = 100

export interface Claims {
  /** Brings one claim in order; a number asks to be called again after so many milliseconds. */
  reconcile(key: string): Promise<number | void>
  /** Tells on the claim why there is no disk yet, in the words of whoever refused. */
  tellFailure(key: string, error: unknown): void
}

/** Opens the room; the pool in it makes one choice at a time. */
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
        return noteKept(parts, claim)
      }
      const diskClass = classOf(parts, claim.spec.storageClassName)
      if (diskClass === undefined || isSomebodyElses(claim)) return
      checkClaim(claim)
      const pod = parts.view.podOf(key)
      const placement = placementOf(claim) ?? (pod === undefined ? undefined : Placement.parse(pod.spec))
      const now = parts.clock.monotonic()
      const seen = firstSeen.get(key) ?? now
      firstSeen.set(key, seen)
      if (placement === undefined && now - seen < POD_PATIENCE_MS) return POD_LOOK_MS
      const object: KubeObject = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claim }
      const wish = { request: requestOf(claim), claim: object, runtime: runtimeOf(claim), placement }
      const bound = await bindClaim(
        parts,
        { pool, diskClass, claim: { ...wish, pod: pod?.metadata.name ?? podNameOf(claim) } },
        signal,
      )
      if (bound === undefined) return
      parts.counts[bound.reused ? 'reused' : 'created'] += 1
    },
    tellFailure(key, error) {
      const claim = parts.view.claims.get(key)
      parts.counts.failed += 1
      const message = wordsOf(error)
      if (claim === undefined || message === undefined) return
      void parts.teller.tell(
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

/** Binds a claim, or answers undefined when it waits for its pod to be scheduled. */
async function bindClaim(parts: Parts, { pool, diskClass, claim }: Binding, signal: AbortSignal): Promise<Disk | undefined> {
  const startedAt = parts.clock.monotonic()
  checkZone(diskClass, backendOf(parts, diskClass), claim)
  const waits = diskClass.volumeBindingMode === 'WaitForFirstConsumer' && selectedNode(parts, claim) === undefined
  const why = explain(parts, claim)
  const subject = { kind: 'PersistentVolumeClaim', metadata: claim.claim.metadata }
  // A warm disk is worth more than the node that the scheduler would like best; for a new one it has the choice.
  const disk = waits ? await pool.reuse(claim, signal) : await pool.bind(claim, signal)
  if (disk === undefined) {
    await parts.teller.tell(subject, {
      reason: 'WaitForPodScheduled',
      message: `${why} A new disk is made where the pod is scheduled.`,
    })
    return undefined
  }
  const ms = Math.round(parts.clock.monotonic() - startedAt)
  parts.log.info({ claim: keyOf(claim.claim.metadata), ...disk, ms }, 'disk bound')
  const message = disk.reused ? `Reuses the disk ${disk.volume}.` : `${why} Made the disk ${disk.volume}.`
  void parts.teller.tell(subject, { reason: 'ProvisioningSucceeded', message })
  return disk
}

/** Why no disk of the class is taken, counted by reason. */
function explain({ view, clock }: Parts, claim: DiskClaim): string {
  if (claim.request.reset) return 'An empty disk was asked for.'
  const counted = new Map<Refusal | 'reach', number>()
  for (const volume of view.volumes.values()) {
    if (volume.spec.storageClassName !== claim.request.storageClassName) continue
    const refusal = refusalOf(volume, claim.request, clock.now()) ?? 'reach'
    counted.set(refusal, (counted.get(refusal) ?? 0) + 1)
  }
  if (counted.size === 0) return 'There is no disk of this class yet.'
  const words = [...counted].map(([refusal, count]) => `${count} ${refusal === 'reach' ? 'out of reach' : REFUSALS[refusal]}`)
  return `No disk fits: ${words.join(', ')}.`
}

/** Makes disks by the backend of the claim's class, with the marks that let a crash leave nothing behind. */
function backendMaker(parts: Parts): DiskMaker {
  return {
    async make(claim, signal) {
      const diskClass = classOf(parts, claim.request.storageClassName)
      if (diskClass === undefined) throw fault('not-found', { message: `The class ${claim.request.storageClassName} is gone.` })
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

/** A node for a disk whose pod is not placed yet: of those that accept the pod, the one with the fewest disks. */
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

function isSomebodyElses({ metadata }: Claim): boolean {
  return metadata.annotations[CLAIM_NOTE.boundBy] !== undefined || metadata.deletionTimestamp !== undefined
}

/** Kinds of claims that no disk of a build can serve. */
function checkClaim({ spec }: Claim): void {
  const refuse = (message: string): never => {
    throw fault('storage-refused', { message })
  }
  const foreign = spec.accessModes.find((mode) => mode !== 'ReadWriteOnce')
  if (foreign !== undefined) refuse(`Disks of builds are mounted ReadWriteOnce, not ${foreign}.`)
  if (spec.volumeMode !== 'Filesystem') refuse(`Disks of builds are file systems, not ${spec.volumeMode}.`)
  if (spec.dataSource !== undefined) refuse('Disks of builds begin empty: a data source is not supported.')
}

/** A pod that must be in another zone than its disk would wait for ever: better to say so at once. */
function checkZone({ metadata }: DiskClass, backend: Backend, { placement }: DiskClaim): void {
  const asked = zoneAskedFor(placement)
  if (backend.zone === undefined || asked === undefined || asked === backend.zone) return
  throw fault('storage-refused', {
    message:
      `Disks of the class ${metadata.name} are in zone ${backend.zone}, but the pod of the build asks for nodes with ` +
      `${ZONE_LABEL}=${asked}. Use a class of that zone, or select nodes of ${backend.zone}.`,
  })
}

/** A build goes on later: its disk is kept for it alone. The claim says so before it goes, and hears that it was noted. */
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

function runtimeOf({ metadata }: Claim): string {
  return metadata.labels[LABEL.runtime] ?? ''
}

/** Claims are named after their pods: `pvc-dind-<build>` belongs to `dind-<build>`. */
function podNameOf({ metadata }: Claim): string {
  return metadata.name.replace(/^pvc-/, '').slice(0, 63)
}
