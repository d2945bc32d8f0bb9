/** Findings and tests of a cluster. Tests do not change the cluster, except the network test. */
import type { Kube } from '@windlass/kube'

export interface Finding {
  /** Short name of the check. */
  readonly check: string
  /** `warn` does not stop an installation. */
  readonly status: 'pass' | 'warn' | 'fail'
  readonly message: string
  /** How to fix it. */
  readonly hint?: string | undefined
}

export interface Subject {
  readonly kube: Kube
  readonly namespace: string
  /** Parts to install, which need permissions. */
  readonly parts: { readonly agent: boolean; readonly runtime: boolean; readonly provisioner: boolean; readonly monitor: boolean }
  /** True if disks are folders on the nodes. */
  readonly localDisks: boolean
}

export type ClusterTest = (subject: Subject) => Promise<readonly Finding[]>
