/** Puts together what changes the shared configuration repository. */
import { IN_CLUSTER, runtimeApplicationName, type RuntimePlace } from '@windlass/gitops'
import type { Clock } from '@windlass/kit'
import type { Kube } from '@windlass/kube'
import type { Client } from '@windlass/protocol'
import type { ArgoApi } from '../argo/api.ts'
import type { Applications } from '../argo/applications.ts'
import type { Comparisons } from '../argo/comparisons.ts'
import { detachRuntime } from '../argo/detach.ts'
import type { UserCommits } from '../commit/user-commits.ts'
import type { ForgeHosts } from '../forge/hosts.ts'
import type { ApplicationFileParts } from '../http/application-file-routes.ts'
import type { DeliveryParts } from '../http/delivery-routes.ts'
import type { GitopsParts } from '../http/gitops-routes.ts'
import type { ServiceParts } from '../http/service-routes.ts'
import type { SealingServer } from '../sealed/certificate.ts'
import { openAppliedApplications } from './applied-applications.ts'
import { openApplicationFiles } from './application-files.ts'
import { openArgoRollouts } from './argo-rollouts.ts'
import { openClusterSecrets } from './cluster-secrets.ts'
import { openClusters } from './clusters.ts'
import { openControlPlane } from './control-plane.ts'
import { openDeliveryPipelines } from './delivery-pipelines.ts'
import { openGitSources } from './git-sources.ts'
import { openHookSecrets } from './hook-secrets.ts'
import { openRepositoryBranches } from './repository-branch.ts'
import { openRuntimeCharts } from './runtime-chart.ts'
import { openServiceIntegrations } from './service-integrations.ts'
import { openSharedConfigurations } from './shared-configuration.ts'
import { openSharedRepositories } from './shared-repository.ts'
import { openUserRepositories, type UserRepositoriesOptions } from './user-repositories.ts'

export interface GitopsOptions extends UserRepositoriesOptions {
  /** Of the control plane, without a token. */
  readonly client: Client
  readonly kube: Kube
  readonly hosts: ForgeHosts
  readonly commits: UserCommits
  readonly applications: Applications
  readonly comparisons: Comparisons
  readonly argo: ArgoApi | undefined
  readonly place: RuntimePlace
  /** True for a runtime that is limited to its namespace. */
  readonly isNamespaced: boolean
  /** The controller of Sealed Secrets. */
  readonly sealing: SealingServer | undefined
  readonly clock: Clock
}

export function openGitops({
  client,
  kube,
  hosts,
  commits,
  applications,
  comparisons,
  argo,
  place,
  isNamespaced,
  sealing,
  clock,
  ...rest
}: GitopsOptions): Omit<GitopsParts & ApplicationFileParts & DeliveryParts & ServiceParts, 'slots'> {
  const controlPlane = openControlPlane(client)
  const repositories = openUserRepositories(rest)
  const branches = openRepositoryBranches({ repositories, commits })
  // What the folder of the runtime has, what `resources` has, and the chart of the runtime.
  const own = [runtimeApplicationName(place.runtime), IN_CLUSTER, place.runtime]
  const shared = openSharedRepositories({ controlPlane, branches, committed: (revision) => comparisons.ofNames(own, revision) })
  const gitSources = openGitSources({ shared, repositories, place, isNamespaced })
  return {
    configurations: openSharedConfigurations({ shared, controlPlane, place, detach: () => detachRuntime(kube, place) }),
    charts: openRuntimeCharts({ shared, place }),
    gitSources,
    services: openServiceIntegrations({ shared, place, sealing, clock }),
    argoRollouts: openArgoRollouts({ shared, place }),
    clusters: openClusters({ shared, secrets: openClusterSecrets(kube, place.namespace), hosts, place }),
    applicationFiles: openApplicationFiles({ gitSources, branches, applications, place, seesOthers: argo !== undefined }),
    applied: openAppliedApplications({ applications, branches, argo, namespace: place.namespace }),
    deliveryPipelines: openDeliveryPipelines({
      gitSources,
      branches,
      repositories,
      controlPlane,
      secrets: openHookSecrets(kube, place.namespace),
      applications,
      place,
    }),
  }
}
