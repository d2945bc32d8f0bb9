/** The clusters that Argo CD knows: by their Secrets, and with what its server says about them. */
import { IN_CLUSTER, IN_CLUSTER_SERVER } from '@windlass/gitops'
import { attempt, type Logger } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import { ClusterState } from '@windlass/protocol'
import { readArgoClusters, type ArgoServer } from '../argo/server-state.ts'
import type { ClusterSecrets } from '../gitops/cluster-secrets.ts'

/** Part of a name that is logged. Characters. */
const MAX_LOGGED = 100

export interface ClusterParts {
  readonly kube: Kube
  readonly secrets: Pick<ClusterSecrets, 'servers'>
  readonly argo?: ArgoServer | undefined
  readonly log: Logger
}

/** Lists them, with the cluster of the runtime itself first, which needs no Secret. */
export async function listClusterStates(
  { kube, secrets, argo, log }: ClusterParts,
  signal: AbortSignal,
): Promise<ClusterState[]> {
  const [servers, known] = await Promise.all([secrets.servers(), readArgoClusters(argo, signal)])
  const byServer = new Map(known.map((cluster) => [cluster.server, cluster]))
  const bare = (name: string, server: string): ClusterState => ({ name, server, connection: { state: 'unknown' } })
  const named = Array.from(servers, ([name, server]) => byServer.get(server) ?? bare(name, server))
  const own = byServer.get(IN_CLUSTER_SERVER) ?? bare(IN_CLUSTER, IN_CLUSTER_SERVER)
  // Argo CD does not say the version of a cluster that no application uses.
  const version = own.version ?? (await attempt(log, 'version of the cluster', () => kube.version()))
  const all = [{ ...own, ...(version !== undefined && { version }) }, ...named, ...known]
  const found = new Map<string, ClusterState>()
  for (const cluster of all) if (!found.has(cluster.server)) found.set(cluster.server, cluster)
  return [...found.values()].flatMap((cluster) => {
    const shown = ClusterState.safeParse(cluster).data
    // The server would refuse the whole chunk.
    if (shown === undefined)
      log.warn({ cluster: cluster.name.slice(0, MAX_LOGGED) }, 'a cluster is not reported: its URL is not valid')
    return shown ?? []
  })
}
