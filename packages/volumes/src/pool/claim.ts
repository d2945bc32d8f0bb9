/** A claim that needs a disk. */
import type { KubeObject } from '@windlass/kube'
import type { DiskRequest } from '@windlass/protocol'
import type { Placement } from './placement.ts'

export interface DiskClaim {
  readonly request: DiskRequest
  /** The PersistentVolumeClaim as returned by the cluster. */
  readonly claim: KubeObject
  /** Name of the pod that will mount it. */
  readonly pod: string
  readonly runtime: string
  /** Node requirements of the pod, if known. */
  readonly placement?: Placement | undefined
}
