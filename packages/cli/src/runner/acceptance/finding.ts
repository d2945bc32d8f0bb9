/** What a test of a cluster found, and how tests are written. Tests look; but for the network test they change nothing. */
import type { Kube } from '@windlass/kube'

export interface Finding {
  /** Short name of what was looked at. */
  readonly check: string
  /** `warn` does not keep an installation from going on. */
  readonly status: 'pass' | 'warn' | 'fail'
  readonly message: string
  /** What to do about it. */
  readonly hint?: string | undefined
}

export interface Subject {
  readonly kube: Kube
  readonly namespace: string
  /** What is to be installed, and so needs rights. */
  readonly parts: { readonly agent: boolean; readonly runtime: boolean; readonly provisioner: boolean; readonly monitor: boolean }
  /** Disks are folders of the nodes. */
  readonly localDisks: boolean
}

export type ClusterTest = (subject: Subject) => Promise<readonly Finding[]>
