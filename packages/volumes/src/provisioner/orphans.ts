/**
 * Removes cloud disks without a volume: created just before a crash for a claim that is gone, or left by `kubectl delete pv`. Only disks of
 * this installation are considered, and only those that had time to get their volume.
 */
import { LABEL } from '@windlass/protocol'
import { claimKey } from '../pool/maker.ts'
import { NOTE } from '../pool/notes.ts'
import { toVolume } from '../pool/volume.ts'
import { requestOf } from '../pool/request.ts'
import { backendOf, classOf, type Parts } from './parts.ts'

/** Age from which a disk without a volume is an orphan: longer than the timeout of any call. Milliseconds. */
const GRACE_MS = 10 * 60_000

/** Removes orphans and returns their number. Throws faults of the backend. */
export async function removeOrphans(parts: Parts, signal: AbortSignal): Promise<number> {
  const { kube, clock, log, view } = parts
  let removed = 0
  for (const name of view.classes.keys()) {
    const diskClass = classOf(parts, name)
    const backend = diskClass === undefined ? undefined : backendOf(parts, diskClass)
    if (backend?.list === undefined) continue
    const disks = await backend.list(signal)
    if (disks.length === 0) continue
    // Listed after the disks, so that it includes the volumes of all of them.
    const volumes = await kube.list({ kind: 'PersistentVolume', labels: LABEL.volumeApp }, signal)
    const named = new Set(volumes.map((object) => toVolume(object).metadata.annotations[NOTE.backendId]))
    const wanted = new Set(
      [...view.claims.values()].map((claim) =>
        claimKey({
          claim: { apiVersion: 'v1', kind: 'PersistentVolumeClaim', ...claim },
          request: requestOf(claim),
          pod: '',
          runtime: '',
        }),
      ),
    )
    for (const disk of disks) {
      const isYoung = clock.now() - disk.createdAt < GRACE_MS
      if (isYoung || named.has(disk.id) || wanted.has(disk.key)) continue
      log.warn({ disk: disk.id, class: name }, 'removing a disk that no volume names')
      await backend.removeListed?.(disk, signal)
      removed += 1
    }
  }
  return removed
}
