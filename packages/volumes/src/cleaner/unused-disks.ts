/**
 * Removes unused disks of clouds. A removal is only requested on the volume; the provisioner removes the disk. The request is a
 * compare-and-swap write, so a build that chooses the disk at the same moment and writes first keeps it.
 */
import type { Clock, Logger } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { LABEL } from '@windlass/protocol'
import { judgeDisk, type UnusedDisk, type UnusedRules, type Verdict } from '../clean/unused.ts'
import { DISK_LABEL, NOTE } from '../pool/notes.ts'
import { requestDiskRemoval } from '../pool/request-removal.ts'
import { isDoomed, lastUsedAt, localPathOf, mountCountOf, toVolume, type Volume } from '../pool/volume.ts'
import { maxRemovals } from './removal-limit.ts'

export interface UnusedDisksOptions {
  readonly kube: Kube
  readonly clock: Clock
  readonly log: Logger
  readonly rules: UnusedRules
  readonly dryRun: boolean
  readonly signal: AbortSignal
}

export interface Summary {
  readonly looked: number
  /** Names of the volumes whose removal was requested. */
  readonly removed: readonly string[]
  /** Numbers of kept disks by reason. */
  readonly kept: Readonly<Record<string, number>>
}

/** Checks every disk once. Throws faults of the cluster. */
export async function removeUnusedDisks(options: UnusedDisksOptions): Promise<Summary> {
  const { kube, log, rules, clock, signal, dryRun } = options
  const volumes = (await kube.list({ kind: 'PersistentVolume', labels: LABEL.volumeApp }, signal)).map(toVolume)
  const removed: string[] = []
  const kept: Record<string, number> = {}
  const ours = volumes.filter(({ metadata }) => metadata.annotations[NOTE.provisionedBy] === rules.provisionedBy)
  // Longest unused first, in case not all of them are removed in one run.
  for (const volume of volumes.toSorted((a, b) => lastUsedAt(a) - lastUsedAt(b))) {
    signal.throwIfAborted()
    const { name } = volume.metadata
    let why: Verdict | 'next-time' | 'changed' = judgeDisk(readDisk(volume), rules, clock.now())
    if (why === 'remove' && removed.length >= maxRemovals(ours.length)) why = 'next-time'
    if (why === 'remove') why = await requestRemoval(options, name)
    if (why === 'retention-unreadable') log.warn({ volume: name, retention: volume.metadata.annotations[NOTE.retention] }, why)
    if (why === 'remove') {
      removed.push(name)
      log.info(
        { volume: name, dryRun, lastUsed: new Date(lastUsedAt(volume)).toISOString(), mounts: mountCountOf(volume) },
        'disk removed',
      )
    } else kept[why] = (kept[why] ?? 0) + 1
  }
  log.info({ looked: volumes.length, removed: removed.length, kept, dryRun }, 'checked for unused disks')
  return { looked: volumes.length, removed, kept }
}

/** Reads the volume again: it must still be unused, and the claim that it names must be gone. */
async function requestRemoval(options: UnusedDisksOptions, name: string): Promise<Verdict | 'changed'> {
  const { kube, clock, rules, dryRun, signal } = options
  const keeps = (volume: Volume): Exclude<Verdict, 'remove'> | undefined => {
    const verdict = judgeDisk(readDisk(volume), rules, clock.now())
    return verdict === 'remove' ? undefined : verdict
  }
  const { outcome, why } = await requestDiskRemoval({ kube, clock, name, keeps, dryRun, signal })
  if (why !== undefined) return why
  if (outcome === 'in-use') return 'in-use'
  return outcome === 'requested' ? 'remove' : 'changed'
}

function readDisk(volume: Volume): UnusedDisk {
  const { annotations, labels } = volume.metadata
  const keptUntil = Date.parse(annotations[NOTE.keptUntil] ?? '')
  return {
    phase: volume.status.phase,
    isLocal: labels[DISK_LABEL.backend] === 'local' || localPathOf(volume) !== undefined,
    isDoomed: isDoomed(volume),
    provisionedBy: annotations[NOTE.provisionedBy],
    lastUsedAt: lastUsedAt(volume),
    mounts: mountCountOf(volume),
    keptUntil: Number.isNaN(keptUntil) ? undefined : keptUntil,
    retention: annotations[NOTE.retention],
  }
}
