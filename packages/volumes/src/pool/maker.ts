/** The interface of disk makers: folders of nodes, cloud disks. */
import { sha256 } from '@windlass/kit'
import type { DiskClaim } from './claim.ts'

export interface NewDisk {
  /** Id of the disk in the backend: a folder such as `vol-3f…`, or the id of a cloud disk. */
  readonly id: string
  /** Value of the label `backend-volume-type`. */
  readonly backend: string
  /** The volume source, and the node affinity if the disk is not reachable from all nodes. */
  readonly spec: Readonly<Record<string, unknown>>
  /** Additional annotations of the volume. */
  readonly annotations?: Readonly<Record<string, string>>
}

/**
 * Creates empty disks. Called again for the same claim it returns the same disk, so that a crash before its volume is created leaves
 * nothing behind.
 */
export interface DiskMaker {
  make(claim: DiskClaim, signal: AbortSignal): Promise<NewDisk>
}

/** Returns 12 hex digits for a claim, used in the names of its objects, the same on every attempt. */
export function claimKey({ claim }: DiskClaim): string {
  const { uid, namespace = '', name } = claim.metadata
  return sha256(uid ?? `${namespace}/${name}`).slice(0, 12)
}

/** Returns folders below `parentDir`, which the kubelet creates when a pod first mounts them, on the node of that pod. */
export function hostPathDisks(parentDir: string): DiskMaker {
  return {
    make: async (claim) => {
      const id = `vol-${claimKey(claim)}`
      return { id, backend: 'local', spec: { hostPath: { path: `${parentDir}/${id}`, type: 'DirectoryOrCreate' } } }
    },
  }
}
