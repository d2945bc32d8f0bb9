/**
 * The interface of storage backends. Rules for every backend:
 * - `make` is called again after any failure or crash, with the same `key`. It looks for the disk of that key before it creates one.
 * - `remove` succeeds if the disk is already gone, and throws the message of the provider while the disk is in use.
 * - `list` returns every disk with the tag of the owner, including those without a volume.
 * - Calls may run concurrently. Each retries throttling and outages itself. It throws `storage-refused` for permanent errors and
 *   `storage-unreachable` for transient ones. A message never contains a credential.
 */
import type { KubeObject } from '@windlass/kube'
import type { NewDisk } from '../pool/maker.ts'
import type { Volume } from '../pool/volume.ts'

export interface DiskSpec {
  /** The same on every attempt for a claim; 12 hex digits. */
  readonly key: string
  readonly sizeBytes: number
  /** Tags or labels of the disk. */
  readonly tags: Readonly<Record<string, string>>
  /** The node of the pod if it is scheduled, or the node on which a disk is to be created. */
  readonly node?: KubeObject | undefined
}

export interface ListedDisk {
  readonly id: string
  /** Key of the claim for which it was created. */
  readonly key: string
  /** Epoch milliseconds. */
  readonly createdAt: number
}

export interface Backend {
  /** Value of the label `backend-volume-type`. */
  readonly type: string
  /** The zone of all disks of this class; undefined if disks follow their pods. */
  readonly zone?: string | undefined
  /** True if a disk can only be created on a known node. */
  readonly needsNode: boolean
  make(wanted: DiskSpec, signal: AbortSignal): Promise<NewDisk>
  remove(volume: Volume, signal: AbortSignal): Promise<void>
  /** Lists disks of an owner. Absent if no disk can be left without its volume. */
  list?(signal: AbortSignal): Promise<readonly ListedDisk[]>
  /** Removes a disk without a volume. */
  removeListed?(disk: ListedDisk, signal: AbortSignal): Promise<void>
}

/** Tags of every cloud disk. The owner is the uid of the provisioner's lease, which is unique to a cluster. */
export const TAG = { key: 'windlass-claim-key', owner: 'windlass-owner' } as const

/** Returns a size in whole GiB, rounded up, the unit of the clouds. */
export function wholeGib(sizeBytes: number): number {
  return Math.max(1, Math.ceil(sizeBytes / 2 ** 30))
}
