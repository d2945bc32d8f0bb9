/** The seam to whatever makes disks: a folder on a node, a disk of a cloud. */
import { sha256 } from '@windlass/kit'
import type { DiskClaim } from './disk.ts'

export interface NewDisk {
  /** How the backend calls the disk: a folder such as `vol-3f…`, or the id of a cloud disk. */
  readonly id: string
  /** Value of the label `backend-volume-type`. */
  readonly backend: string
  /** The volume source, and the affinity where the disk cannot be reached from everywhere. */
  readonly spec: Readonly<Record<string, unknown>>
  /** Further annotations of the volume. */
  readonly annotations?: Readonly<Record<string, string>>
}

/** Makes empty disks. Asked again for a claim it answers the same disk: a crash between the disk and its volume leaves nothing behind. */
export interface DiskMaker {
  make(claim: DiskClaim, signal: AbortSignal): Promise<NewDisk>
}

/** 12 hex digits that stand for a claim: names of what is made for it, the same at every try. */
export function claimKey({ claim }: DiskClaim): string {
  const { uid, namespace = '', name } = claim.metadata
  return sha256(uid ?? `${namespace}/${name}`).slice(0, 12)
}

/** Folders below `parentDir` that the kubelet makes when a pod first mounts them, on the node where the scheduler puts that pod. */
export function hostPathDisks(parentDir: string): DiskMaker {
  return {
    make: async (claim) => {
      const id = `vol-${claimKey(claim)}`
      return { id, backend: 'local', spec: { hostPath: { path: `${parentDir}/${id}`, type: 'DirectoryOrCreate' } } }
    },
  }
}
