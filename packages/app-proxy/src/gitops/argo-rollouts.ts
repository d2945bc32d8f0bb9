/** Installs Argo Rollouts in clusters of a runtime: one commit writes the application, and Argo CD applies its chart. */
import {
  ARGO_ROLLOUTS,
  argoRolloutsFile,
  argoRolloutsName,
  argoRolloutsPath,
  clusterPath,
  clusterServerOf,
  editArgoRollouts,
  IN_CLUSTER,
  IN_CLUSTER_SERVER,
  readArgoRollouts,
  type RuntimePlace,
} from '@windlass/gitops'
import { defined, fault } from '@windlass/kit'
import type { ArgoRolloutsChange, ArgoRolloutsInput } from '@windlass/protocol'
import type { RepositoryView } from './repository-view.ts'
import type { Plan } from './repository-branch.ts'
import { foreignFile, oneFile, requireRuntime } from './shared-configuration.ts'
import type { SharedRepositories } from './shared-repository.ts'
import type { GitopsCall } from './user-repositories.ts'

export interface ArgoRolloutsInstallations {
  /**
   * Commits the application for a cluster, or changes it: what the call does not name stays. The same call again makes no commit. Throws `not-found` for a cluster that the runtime does not have, and `conflict`
   * if another file has the place.
   */
  create(call: GitopsCall, cluster: string, input: ArgoRolloutsInput): Promise<ArgoRolloutsChange>
}

interface Options {
  readonly shared: SharedRepositories
  readonly place: RuntimePlace
}

export function openArgoRollouts({ shared, place }: Options): ArgoRolloutsInstallations {
  return {
    async create(call, cluster, input) {
      const repository = await shared.open(call)
      const { commit, result } = await repository.change((view) => planInstallation(view, { place, cluster, input }))
      const file = argoRolloutsPath(place.runtime, cluster)
      return { application: argoRolloutsName(cluster), file, ...result, commit }
    },
  }
}

interface Installation {
  readonly place: RuntimePlace
  readonly cluster: string
  readonly input: ArgoRolloutsInput
}

async function planInstallation(
  view: RepositoryView,
  { place, cluster, input }: Installation,
): Promise<Plan<{ readonly chart: string; readonly version: string }>> {
  const { runtime } = place
  await requireRuntime(view, runtime)
  const server = await serverOf(view, place, cluster)
  const path = argoRolloutsPath(runtime, cluster)
  const before = await view.read(path)
  const known = before === undefined ? undefined : readArgoRollouts(before)
  if (before !== undefined && known === undefined) throw foreignFile(path)
  const { chart, version, namespace, values } = input
  if (chart !== undefined && version === undefined)
    throw fault('request-invalid', {
      message: 'The version of the chart is missing.',
      hint: 'Name it: another chart may not have the default version.',
    })
  const wanted = { ...(known ?? ARGO_ROLLOUTS), ...defined({ chart, version, namespace }), server, values }
  const text = before === undefined ? argoRolloutsFile(place, cluster, wanted) : editArgoRollouts(before, wanted)
  if (text === undefined) throw foreignFile(path)
  return {
    message: input.message ?? `Install Argo Rollouts in the cluster ${cluster} of the GitOps runtime ${runtime}`,
    files: text === before ? new Map() : oneFile(path, text),
    result: { chart: wanted.chart, version: wanted.version },
  }
}

/** Throws `not-found`, and `not-supported` for the own cluster of a hosted runtime. */
async function serverOf(view: RepositoryView, { runtime, isHosted }: RuntimePlace, cluster: string): Promise<string> {
  if (cluster === IN_CLUSTER && isHosted === true)
    throw fault('not-supported', {
      message: `The GitOps runtime "${runtime}" is hosted, and deploys nothing to its own cluster, which is that of the server.`,
      hint: 'Name a managed cluster: `windlass gitops cluster list RUNTIME`.',
    })
  if (cluster === IN_CLUSTER) return IN_CLUSTER_SERVER
  const text = await view.read(clusterPath(runtime, cluster))
  const server = text === undefined ? undefined : clusterServerOf(text)
  if (server !== undefined) return server
  throw fault('not-found', {
    message: `The GitOps runtime "${runtime}" does not manage a cluster "${cluster}".`,
    hint: 'List its clusters with `windlass gitops cluster list RUNTIME`. Its own one is "in-cluster".',
  })
}
