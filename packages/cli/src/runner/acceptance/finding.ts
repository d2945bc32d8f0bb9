/** Tests of a cluster. They do not change the cluster, except the network test. */
import type { Finding, Kube } from '@windlass/kube'

export type { Finding } from '@windlass/kube'

export interface Subject {
  readonly kube: Kube
  readonly namespace: string
  /** Parts to install, which need permissions. */
  readonly parts: {
    readonly agent: boolean
    readonly runtime: boolean
    readonly provisioner: boolean
    readonly monitor: boolean
    /** The app-proxy with an Ingress, or with an HTTPRoute. */
    readonly proxyIngress?: boolean
    readonly proxyRoute?: boolean
  }
  /** True if disks are folders on the nodes. */
  readonly localDisks: boolean
}

export type ClusterTest = (subject: Subject) => Promise<readonly Finding[]>
