/**
 * Handles disks that are in use, free, to be removed, or lost with their nodes. The rule (docs/development/adr/0044): a disk is in use while the
 * claim that its volume names exists, whatever its phase and timers are. Before anything of a disk is removed, the removal is written on the
 * volume by compare-and-swap, so that no build can choose it any more.
 */
import { isFault } from '@windlass/kit'
import type { KubeObject, ObjectRef } from '@windlass/kube'
import { z } from 'zod'
import { isClaimed } from '../pool/disk.ts'
import { NOTE } from '../pool/notes.ts'
import { onNode } from '../pool/placement.ts'
import { isDoomed, localPathOf, toVolume, type Volume } from '../pool/volume.ts'
import { messageOf } from './events.ts'
import { isOurs, parametersOf, type Parts } from './parts.ts'
import { keyOf, type PodOnDisk } from './view.ts'

export interface Volumes {
  /** Reconciles one volume. */
  reconcile(name: string): Promise<void>
  /** Writes an event on the volume with the cause of a failed removal. */
  reportFailure(name: string, error: unknown): void
}

/** Opens the handler of volumes. */
export function openVolumes(parts: Parts, signal: AbortSignal): Volumes {
  return {
    async reconcile(name) {
      const volume = parts.view.volumes.get(name)
      if (volume === undefined || volume.metadata.deletionTimestamp !== undefined || !isOurs(parts, volume)) return
      const held = volume.spec.claimRef
      const claim = held === undefined ? undefined : parts.view.claims.get(keyOf(held))
      if (claim !== undefined && claim.metadata.uid === held?.uid) return noteUse(parts, volume, parts.view.podOf(keyOf(held)))
      const isLost = hasLostItsNode(parts, volume)
      if (isDoomed(volume) || isLost) await removeDisk(parts, volume, signal)
    },
    reportFailure(name, error) {
      const volume = parts.view.volumes.get(name)
      const message = messageOf(error)
      if (volume === undefined || message === undefined) return
      void parts.events.write({ kind: 'PersistentVolume', metadata: volume.metadata }, { reason: 'VolumeFailedDelete', message })
    },
  }
}

function hasLostItsNode({ view }: Parts, volume: Volume): boolean {
  const node = volume.metadata.annotations[NOTE.node]
  return node !== undefined && localPathOf(volume) !== undefined && !view.nodes.has(node)
}

/** Writes the facts on the volume that only its pod knows: the node of a disk on a node, and its free space. */
async function noteUse({ kube, view }: Parts, volume: Volume, pod: PodOnDisk | undefined): Promise<void> {
  if (pod === undefined) return
  const { name, annotations, labels, resourceVersion } = volume.metadata
  const notes: Record<string, string> = {}
  const free = freeBytesOf(pod)
  if (free !== undefined && annotations[NOTE.free] !== free) notes[NOTE.free] = free
  const nodeName = pod.spec.nodeName ?? ''
  const node = view.nodes.get(nodeName)
  const isNewHome = localPathOf(volume) !== undefined && node !== undefined && annotations[NOTE.node] === undefined
  if (isNewHome) notes[NOTE.node] = nodeName
  const isNamed = labels['pod_name'] === pod.metadata.name
  if (Object.keys(notes).length === 0 && isNamed) return
  // The affinity of a volume can be set only once; a disk on a node never moves.
  const affinity = isNewHome && volume.spec.nodeAffinity === undefined ? { spec: { nodeAffinity: onNode(node) } } : {}
  const metadata = { resourceVersion, annotations: notes, labels: { pod_name: pod.metadata.name } }
  await kube.patch({ kind: 'PersistentVolume', name }, { metadata, ...affinity })
}

/** Reads the termination message of the daemon: `{"availableDiskSpaceKb": n}`. */
function freeBytesOf({ status }: PodOnDisk): string | undefined {
  const message = status.containerStatuses[0]?.state.terminated?.message
  if (message === undefined) return undefined
  try {
    const parsed = z.object({ availableDiskSpaceKb: z.number().nonnegative() }).safeParse(JSON.parse(message))
    return parsed.success ? String(Math.floor(parsed.data.availableDiskSpaceKb) * 1024) : undefined
  } catch {
    return undefined
  }
}

/** Removes an unused disk and its volume. Every step can be repeated. */
async function removeDisk(parts: Parts, seen: Volume, signal: AbortSignal): Promise<void> {
  const ref: ObjectRef = { kind: 'PersistentVolume', name: seen.metadata.name }
  const found = await parts.kube.find(ref, signal)
  if (found === undefined) return
  const volume = toVolume(found)
  if (volume.metadata.deletionTimestamp !== undefined || (await isClaimed(parts.kube, volume, signal))) return
  if (!isDoomed(volume) && !(await isNodeGone(parts, volume, signal))) return
  const marked = await markRemoved(parts, volume, signal)
  if (marked === undefined) return
  // Uses the parameters on the volume, not its class, which may have been recreated for another backend.
  const backend = parts.openBackend(parametersOf(marked))
  await backend.remove(marked, signal)
  await parts.kube.delete(ref, { uid: marked.metadata.uid, signal })
  parts.counts.removed += 1
  parts.log.info({ volume: ref.name, backend: backend.type }, 'disk removed')
}

/** Whether the API server confirms that the node is gone; the cache may be behind. */
async function isNodeGone({ kube }: Parts, volume: Volume, signal: AbortSignal): Promise<boolean> {
  const name = volume.metadata.annotations[NOTE.node]
  return name !== undefined && (await kube.find({ kind: 'Node', name }, signal)) === undefined
}

/**
 * Marks a volume as being removed; no build takes the disk after that. Returns undefined if the volume has changed, which triggers another
 * call.
 */
async function markRemoved({ kube, clock }: Parts, volume: Volume, signal: AbortSignal): Promise<Volume | undefined> {
  const { name, resourceVersion, annotations } = volume.metadata
  if (annotations[NOTE.removing] !== undefined) return volume
  const metadata = { resourceVersion, annotations: { [NOTE.removing]: new Date(clock.now()).toISOString() } }
  try {
    const object: KubeObject = await kube.patch({ kind: 'PersistentVolume', name }, { metadata }, { signal })
    return toVolume(object)
  } catch (error) {
    if (isFault(error, 'conflict', 'not-found')) return undefined
    throw error
  }
}
