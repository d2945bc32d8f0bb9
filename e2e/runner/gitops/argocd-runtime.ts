/** Applications on the shared Argo CD, and how tests wait for them. */
import type { KubeObject } from '@windlass/kube'
import { argoLogs } from '../../support/argocd.ts'
import type { Cluster } from '../../support/cluster.ts'
import type { SharedArgoCd } from './shared-argocd.ts'

/** A controller on a busy machine. Milliseconds. */
const PATIENCE_MS = 120_000

/** The fields of an application that tests read. */
export interface Live {
  readonly metadata: { readonly annotations?: Record<string, string> }
  readonly operation?: object
  readonly status?: {
    readonly health?: { readonly status: string }
    readonly sync?: { readonly status: string; readonly revision: string }
    readonly operationState?: {
      readonly phase: string
      readonly operation: { readonly sync: Record<string, unknown>; readonly initiatedBy: object; readonly retry?: object }
    }
  }
}

export const isSynced = ({ status }: Live): boolean => status?.sync?.status === 'Synced' && status.health?.status === 'Healthy'

export interface Awaited {
  readonly cluster: Cluster
  readonly argo: SharedArgoCd
  /** Default: that of Argo CD. */
  readonly namespace?: string
}

/** Waits until an application is as wanted, by a watch. */
export async function untilApplication(at: Awaited, name: string, isDone: (app: Live) => boolean): Promise<Live> {
  const { cluster, argo, namespace = argo.namespace } = at
  const signal = AbortSignal.timeout(PATIENCE_MS)
  let last: KubeObject | undefined
  const selection = { kind: 'Application', namespace, fields: `metadata.name=${name}` } as const
  for await (const change of cluster.kube.watch(selection, { signal })) {
    if (change.type !== 'set') continue
    last = change.object
    // What Argo CD writes.
    const app = last as unknown as Live
    if (isDone(app)) return app
  }
  throw new Error(`${name} is not as wanted: ${JSON.stringify(last?.['status'])}\n${await argoLogs(cluster, argo.namespace)}`)
}
