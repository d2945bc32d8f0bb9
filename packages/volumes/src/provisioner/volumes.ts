/**
 * What becomes of a disk: in use, free, to be removed, or lost with its node. The rule (docs/adr/0044): a disk is in use while the claim
 * that its volume names exists, whatever phases and timers say; and before anything of it is removed, that is written on the volume by
 * compare and swap, so that no choice can take it any more.
 */
import { isFault } from '@windlass/kit'
import type { KubeObject, ObjectRef } from '@windlass/kube'
import { z } from 'zod'
import { isClaimed } from '../pool/disk.ts'
import { NOTE } from '../pool/notes.ts'
import { onNode } from '../pool/placement.ts'
import { isDoomed, localPathOf, toVolume, type Volume } from '../pool/volume.ts'
import { wordsOf } from './events.ts'
import { isOurs, parametersOf, type Parts } from './parts.ts'
import { keyOf, type PodOnDisk } from './view.ts'

export interface Volumes {
  /** Brings one volume in order. */
  reconcile(name: string): Promise<void>
  /** Tells on the volume why it cannot be removed. */
  tellFailure(name: string, error: unknown): void
}

/** Opens the room of volumes. */
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
    tellFailure(name, error) {
      const volume = parts.view.volumes.get(name)
      const message = wordsOf(error)
      if (volume === undefined || message === undefined) return
      void parts.teller.tell({ kind: 'PersistentVolume', metadata: volume.metadata }, { reason: 'VolumeFailedDelete', message })
    },
  }
}

function hasLostItsNode({ view }: Parts, volume: Volume): boolean {
  const node = volume.metadata.annotations[NOTE.node]
  return node !== undefined && localPathOf(volume) !== undefined && !view.nodes.has(node)
}

/** Notes on the volume what only its pod knows: the node of a disk that lives on one, and how much space was left. */
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
  // The affinity of a volume can be set once; a disk on a node never moves.
  const affinity = isNewHome && volume.spec.nodeAffinity === undefined ? { spec: { nodeAffinity: onNode(node) } } : {}
  const metadata = { resourceVersion, annotations: notes, labels: { pod_name: pod.metadata.name } }
  await kube.patch({ kind: 'PersistentVolume', name }, { metadata, ...affinity })
}

/** The daemon's last words (runner specification 3.3): `{"availableDiskSpaceKb": n}`. */
function freeBytesOf({ status }: PodOnDisk): string | undefined {
  const message = status.containerStatuses[0]?.state.terminated?.message
  if (message === undefined) return undefined
  try {
    const words = z.object({ availableDiskSpaceKb: z.number().nonnegative() }).safeParse(JSON.parse(message))
    return words.success ? String(Math.floor(words.data.availableDiskSpaceKb) * 1024) : undefined
  } catch {
    return undefined
  }
}

/** Removes a disk that nobody uses and its volume; every step can be repeated. */
async function removeDisk(parts: Parts, seen: Volume, signal: AbortSignal): Promise<void> {
  const ref: ObjectRef = { kind: 'PersistentVolume', name: seen.metadata.name }
  const found = await parts.kube.find(ref, signal)
  if (found === undefined) return
  const volume = toVolume(found)
  if (volume.metadata.deletionTimestamp !== undefined || (await isClaimed(parts.kube, volume, signal))) return
  if (!isDoomed(volume) && !(await isNodeGone(parts, volume, signal))) return
  const marked = await markRemoved(parts, volume, signal)
  if (marked === undefined) return
  // By what the volume says, not by its class: that may have been made again for another backend.
  const backend = parts.openBackend(parametersOf(marked))
  await backend.remove(marked, signal)
  await parts.kube.delete(ref, { uid: marked.metadata.uid, signal })
  parts.counts.removed += 1
  parts.log.info({ volume: ref.name, backend: backend.type }, 'disk removed')
}

/** The view may be late: a node counts as gone when the API server says so. */
async function isNodeGone({ kube }: Parts, volume: Volume, signal: AbortSignal): Promise<boolean> {
  const name = volume.metadata.annotations[NOTE.node]
  return name !== undefined && (await kube.find({ kind: 'Node', name }, signal)) === undefined
}

/** From this write on no choice takes the disk. Undefined when the volume changed meanwhile: the change brings us back here. */
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
