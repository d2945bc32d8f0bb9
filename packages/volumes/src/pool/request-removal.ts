/**
 * Requests the removal of a disk by compare-and-swap: a build that takes the disk at the same moment and writes first keeps it. The provisioner removes the
 * disk, and no build takes it after the request.
 */
import { isFault, type Clock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { isClaimed } from './disk.ts'
import { NOTE } from './notes.ts'
import { isDoomed, toVolume, type Volume } from './volume.ts'

interface RemovalRequest<Why extends string> {
  readonly kube: Kube
  readonly clock: Clock
  /** Name of the volume. */
  readonly name: string
  /** Why the disk must be kept, judged by its current state. Undefined if it may be removed. */
  readonly keeps: (volume: Volume) => Why | undefined
  /** Changes nothing. */
  readonly dryRun?: boolean
  readonly signal: AbortSignal
}

interface RemovalAnswer<Why extends string> {
  /** `kept`: `keeps` has a reason. `changed`: another process changed the volume at the same time. */
  readonly outcome: 'requested' | 'in-use' | 'kept' | 'changed' | 'gone'
  /** The reason of `kept`. */
  readonly why?: Why
  readonly volume?: Volume
}

/** Reads the volume again and requests its removal unless it is in use. A repeated request changes nothing. Throws faults of the cluster. */
export async function requestDiskRemoval<Why extends string>({
  kube,
  clock,
  name,
  keeps,
  dryRun,
  signal,
}: RemovalRequest<Why>): Promise<RemovalAnswer<Why>> {
  const ref = { kind: 'PersistentVolume', name } as const
  const found = await kube.find(ref, signal)
  if (found === undefined) return { outcome: 'gone' }
  const volume = toVolume(found)
  const why = keeps(volume)
  if (why !== undefined) return { outcome: 'kept', why, volume }
  if (await isClaimed(kube, volume, signal)) return { outcome: 'in-use', volume }
  if (dryRun === true) return { outcome: 'requested', volume }
  const { annotations, resourceVersion } = volume.metadata
  const isRequested = isDoomed(volume) && volume.spec.persistentVolumeReclaimPolicy === 'Delete'
  if (isRequested) return { outcome: 'requested', volume }
  const removing = annotations[NOTE.removing] ?? new Date(clock.now()).toISOString()
  const patch = {
    metadata: { resourceVersion, annotations: { [NOTE.removing]: removing } },
    spec: { persistentVolumeReclaimPolicy: 'Delete' },
  }
  try {
    await kube.patch(ref, patch, { signal })
    return { outcome: 'requested', volume }
  } catch (error) {
    if (isFault(error, 'conflict', 'not-found')) return { outcome: 'changed', volume }
    throw error
  }
}
