/** Routes of the shared configuration repository: the files of this runtime, its chart, its Git sources and its managed clusters. */
import {
  ArgoRolloutsInput,
  ClusterName,
  GitSourceInput,
  GitSourceName,
  ManagedClusterInput,
  NewGitSource,
  RuntimeChartInput,
  SharedConfigurationInput,
} from '@windlass/protocol'
import { z } from 'zod'
import type { ArgoRolloutsInstallations } from '../gitops/argo-rollouts.ts'
import type { Clusters } from '../gitops/clusters.ts'
import type { GitSources } from '../gitops/git-sources.ts'
import type { RuntimeCharts } from '../gitops/runtime-chart.ts'
import type { SharedConfigurations } from '../gitops/shared-configuration.ts'
import { route, type Route } from './route.ts'
import type { Slots } from './slots.ts'

/** A kubeconfig in base64, or the values of a chart, and what is around them. */
const MAX_BODY_BYTES = 262_144

export interface GitopsParts {
  readonly configurations: SharedConfigurations
  readonly charts: RuntimeCharts
  readonly gitSources: GitSources
  readonly clusters: Clusters
  readonly argoRollouts: ArgoRolloutsInstallations
  /** Each change is a commit. */
  readonly slots: Slots
}

const BySource = z.object({ name: GitSourceName })
const ByCluster = z.object({ name: ClusterName })

export function gitopsRoutes({ configurations, charts, gitSources, clusters, argoRollouts, slots }: GitopsParts): Route[] {
  return [
    route('GET', '/shared-configuration', {
      right: 'see-gitops',
      handle: (call) => configurations.show(call),
    }),
    route('PUT', '/shared-configuration', {
      right: 'manage-gitops',
      isWrite: true,
      body: SharedConfigurationInput,
      slots,
      handle: (call) => configurations.set(call, call.body),
    }),
    route('DELETE', '/shared-configuration', {
      right: 'manage-gitops',
      isWrite: true,
      slots,
      handle: (call) => configurations.remove(call),
    }),
    route('GET', '/runtime-chart', {
      right: 'see-gitops',
      handle: (call) => charts.show(call),
    }),
    route('PUT', '/runtime-chart', {
      right: 'manage-gitops',
      isWrite: true,
      body: RuntimeChartInput,
      maxBodyBytes: MAX_BODY_BYTES,
      slots,
      handle: (call) => charts.set(call, call.body),
    }),
    route('GET', '/git-sources', {
      right: 'see-gitops',
      handle: async (call) => ({ items: await gitSources.list(call) }),
    }),
    route('POST', '/git-sources', {
      right: 'change-gitops',
      isWrite: true,
      body: NewGitSource,
      slots,
      handle: (call) => gitSources.create(call, call.body),
    }),
    route('PUT', '/git-sources/{name}', {
      right: 'change-gitops',
      isWrite: true,
      params: BySource,
      body: GitSourceInput,
      slots,
      handle: (call) => gitSources.edit(call, { ...call.body, name: call.params.name }),
    }),
    route('DELETE', '/git-sources/{name}', {
      right: 'manage-gitops',
      isWrite: true,
      params: BySource,
      slots,
      handle: (call) => gitSources.remove(call, call.params.name),
    }),
    route('GET', '/clusters', {
      right: 'see-gitops',
      handle: async (call) => ({ items: await clusters.list(call) }),
    }),
    route('POST', '/clusters', {
      right: 'manage-gitops',
      isWrite: true,
      body: ManagedClusterInput,
      maxBodyBytes: MAX_BODY_BYTES,
      slots,
      handle: (call) => clusters.add(call, call.body),
    }),
    route('POST', '/clusters/{name}/argo-rollouts', {
      right: 'manage-gitops',
      isWrite: true,
      params: ByCluster,
      body: ArgoRolloutsInput,
      maxBodyBytes: MAX_BODY_BYTES,
      slots,
      handle: (call) => argoRollouts.create(call, call.params.name, call.body),
    }),
    route('DELETE', '/clusters/{name}', {
      right: 'manage-gitops',
      isWrite: true,
      params: ByCluster,
      slots,
      handle: (call) => clusters.remove(call, call.params.name),
    }),
  ]
}
