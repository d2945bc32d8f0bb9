/**
 * The seam to what keeps the bytes. Rules for every backend:
 * - `make` is asked again after any failure or crash, with the same `key`: it finds what it made for that key before it makes anything.
 * - `remove` succeeds when the disk is gone already, and refuses with the provider's words while something still uses it.
 * - `list` answers every disk that carries the owner's mark, also those that no volume names any more.
 * - Calls may run side by side; each retries throttling and outages itself, and throws `storage-refused` for a final no,
 *   `storage-unreachable` for everything that time may mend. A message never holds a credential.
 */
import type { KubeObject } from '@windlass/kube'
import type { NewDisk } from '../pool/maker.ts'
import type { Volume } from '../pool/volume.ts'

export interface DiskWish {
  /** The same for every try of a claim; 12 hex digits. */
  readonly key: string
  readonly sizeBytes: number
  /** Tags or labels of the disk: who made it and for what. */
  readonly tags: Readonly<Record<string, string>>
  /** The node of the pod, where the scheduler has named one already, or where a disk of a node shall be. */
  readonly node?: KubeObject | undefined
}

export interface ListedDisk {
  readonly id: string
  /** Key of the claim it was made for. */
  readonly key: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

export interface Backend {
  /** Value of the label `backend-volume-type`. */
  readonly type: string
  /** The zone that every disk of this class is in; undefined where disks follow their pods. */
  readonly zone?: string | undefined
  /** True when a disk can only be made on a node that is known. */
  readonly needsNode: boolean
  make(wish: DiskWish, signal: AbortSignal): Promise<NewDisk>
  remove(volume: Volume, signal: AbortSignal): Promise<void>
  /** Absent where the backend keeps nothing that outlives its volumes unseen. */
  list?(signal: AbortSignal): Promise<readonly ListedDisk[]>
  /** Removes a disk that no volume names. */
  removeListed?(disk: ListedDisk, signal: AbortSignal): Promise<void>
}

/** Tags of every disk of a cloud. The owner is the uid of the provisioner's lease: no other cluster has it. */
export const TAG = { key: 'windlass-claim-key', owner: 'windlass-owner' } as const

/** Whole GiB that hold so many bytes: clouds sell no less. */
export function wholeGib(sizeBytes: number): number {
  return Math.max(1, Math.ceil(sizeBytes / 2 ** 30))
}
