/** Ranks the disks of the cluster for a build. Pure. */
import type { DiskRequest } from '@windlass/protocol'
import { NOTE } from './notes.ts'
import { isDoomed, lastUsedAt, mountCountOf, storageBytes, type Volume } from './volume.ts'

/** Reasons for not choosing a disk of the right class, in the order of the checks. */
export const REFUSALS = {
  doomed: 'to be deleted',
  used: 'in use',
  kept: 'kept for another build',
  selector: 'of other labels',
  small: 'too small',
  full: 'too full',
} as const
export type Refusal = keyof typeof REFUSALS

/**
 * Returns the free disks that fit, best first. A disk fits if all selector keys are equal, it is large enough, not marked for deletion and
 * not kept for another build. The ranking: disks that the builds of the request used last, then equal keys of the sort order from left to
 * right, then the most recent use, then the number of uses.
 */
export function chooseDisks(volumes: readonly Volume[], request: DiskRequest, now: number): Volume[] {
  const { builds = [] } = request
  const rank = (volume: Volume): readonly number[] => [
    builds.includes(volume.metadata.annotations[NOTE.build] ?? '') ? 1 : 0,
    ...request.sortOrder.map((key) => (isSameLabel(volume, request, key) ? 1 : 0)),
    lastUsedAt(volume),
    mountCountOf(volume),
  ]
  return volumes
    .filter((volume) => refusalOf(volume, request, now) === undefined)
    .map((volume) => ({ volume, rank: rank(volume) }))
    .toSorted((a, b) => compareRanks(b.rank, a.rank))
    .map(({ volume }) => volume)
}

/** Returns why a disk does not fit the request, or undefined if it fits. */
export function refusalOf(volume: Volume, request: DiskRequest, now: number): Refusal | undefined {
  // The build that created an unconfirmed disk uses it. `isDoomed` counts it, because no other build may take it.
  if (volume.metadata.annotations[NOTE.unconfirmed] !== undefined) return 'used'
  if (isDoomed(volume)) return 'doomed'
  if (!isFree(volume)) return 'used'
  if (isKept(volume, request.builds ?? [], now)) return 'kept'
  if (!request.selector.every((key) => isSameLabel(volume, request, key))) return 'selector'
  if (storageBytes(volume.spec.capacity.storage) < request.sizeBytes) return 'small'
  const { minimumFreeBytes = 0 } = request
  const free = volume.metadata.annotations[NOTE.free]
  return free !== undefined && Number(free) < minimumFreeBytes ? 'full' : undefined
}

/** A missing key counts as empty on both sides. */
function isSameLabel(volume: Volume, request: DiskRequest, key: string): boolean {
  return (volume.metadata.labels[key] ?? '') === (request.labels[key] ?? '')
}

function isFree({ spec, status }: Volume): boolean {
  if (spec.persistentVolumeReclaimPolicy !== 'Retain') return false
  return status.phase === 'Released' || (status.phase === 'Available' && spec.claimRef === undefined)
}

/** Whether a disk is kept for another build, for example one that waits for approval. */
function isKept({ metadata: { annotations } }: Volume, builds: readonly string[], now: number): boolean {
  const until = Date.parse(annotations[NOTE.keptUntil] ?? '')
  return until > now && !builds.includes(annotations[NOTE.build] ?? '')
}

function compareRanks(a: readonly number[], b: readonly number[]): number {
  for (const [index, value] of a.entries()) if (value !== b[index]) return value - (b[index] ?? 0)
  return 0
}
