/** Fields about GitOps runtimes and the clusters to which they deploy. */
import { field, Pagination, toShownProvider, toSlice, type Fields } from '@windlass/graphql'
import { defined, isFault } from '@windlass/kit'
import {
  ACCESS_MODES,
  Application,
  ERROR_LEVELS,
  GIT_PROVIDERS,
  GitopsRuntime,
  GitopsTokenCreated,
  INSTALLATION_TYPES,
  page,
  REPORTER_SILENT_MS,
  type RuntimeInstallation,
} from '@windlass/protocol'
import { z } from 'zod'
import type { App } from '../../app.ts'
import { applicationOf, errorsOf, given, metadataOf, statesOf, timeText } from './entities.ts'
import type { PlatformCall } from './platform-call.ts'

/** Where the applications of a runtime are that deploy to its own cluster. */
const OWN_CLUSTER = 'https://kubernetes.default.svc'

export const runtimeQueries: Fields<PlatformCall> = {
  runtime: field(z.object({ name: z.string() }), async ({ name: runtime }, call: PlatformCall) => {
    try {
      const found = await call.callRoute('GET /v1/gitops-runtimes/{runtime}', { params: { runtime }, answer: GitopsRuntime })
      return await runtimeOf(call, found)
    } catch (error) {
      if (isFault(error, 'not-found')) return null
      throw error
    }
  }),
  runtimes: field(z.object({ pagination: Pagination }), async ({ pagination }, call: PlatformCall) => {
    const { items } = await call.callRoute('GET /v1/gitops-runtimes', { answer: page(GitopsRuntime) })
    const slice = toSlice(items, ({ name }) => name, pagination)
    // Without the applications that install them: each would be one more call.
    const edges = slice.edges.map(({ node, cursor }) => ({ cursor, node: toRuntime(call.app, node, undefined) }))
    return { ...slice, edges }
  }),
  clusters: field(
    z.object({ runtime: z.string().nullish(), pagination: Pagination }),
    async ({ runtime: name, pagination }, { app, callRoute }: PlatformCall) => {
      const runtime = given(name)
      const runtimes =
        runtime === undefined
          ? (await callRoute('GET /v1/gitops-runtimes', { answer: page(GitopsRuntime) })).items
          : [await callRoute('GET /v1/gitops-runtimes/{runtime}', { params: { runtime }, answer: GitopsRuntime })]
      const clusters = runtimes.flatMap((one) => one.clusters.map((cluster) => ({ ...cluster, runtime: one.name })))
      const slice = toSlice(clusters, ({ runtime: of, cluster }) => `${of}/${cluster}`, pagination)
      return { ...slice, edges: slice.edges.map(({ node, cursor }) => ({ cursor, node: toCluster(app, node) })) }
    },
  ),
}

interface ShownCluster {
  readonly runtime: string
  readonly cluster: string
  readonly applications: number
}

function toCluster(app: App, { runtime, cluster, applications }: ShownCluster): object {
  const isUrl = /^https?:\/\//.test(cluster)
  const name = cluster === OWN_CLUSTER ? 'in-cluster' : cluster
  return {
    metadata: metadataOf(app, { kind: 'Cluster', name, runtime, cluster: isUrl ? cluster : undefined }),
    server: isUrl ? cluster : undefined,
    info: { connectionState: { status: 'Unknown' }, applicationsCount: applications },
  }
}

/** Returns a runtime with the application that installs it, if its namespace is known and its reporter has reported one. */
async function runtimeOf({ app, callRoute }: PlatformCall, runtime: GitopsRuntime): Promise<object> {
  const { namespace } = runtime.installation
  if (namespace === undefined) return toRuntime(app, runtime, undefined)
  const params = { id: `${runtime.name}/${namespace}/${runtime.name}` }
  const own = await callRoute('GET /v1/applications/{id}', { params, answer: Application }).catch((error: unknown) => {
    if (isFault(error, 'not-found')) return undefined
    throw error
  })
  return toRuntime(app, runtime, own)
}

function toRuntime(app: App, runtime: GitopsRuntime, own: Application | undefined): object {
  const { id, name, url, installation, errors, tunnel, reportedAt, clusters, createdAt } = runtime
  const { namespace, cluster, isManaged = false, type = 'HELM' } = installation
  const hasWorked = tunnel !== undefined || reportedAt !== undefined
  const isHeard = reportedAt !== undefined && app.clock.now() - reportedAt < REPORTER_SILENT_MS
  const hasFailed = errors.some(({ level }) => level === 'ERROR')
  return {
    metadata: metadataOf(app, { kind: 'Runtime', name, namespace, runtime: name, cluster, createdAt, uid: id }),
    errors: errors.map(({ level, message, at }) => ({
      __typename: 'HealthError',
      level,
      title: 'Installation',
      message,
      lastSeen: timeText(at),
    })),
    ...(own === undefined
      ? { syncStatus: 'UNKNOWN' }
      : { ...statesOf(own), self: { ...applicationOf(app, own), errors: errorsOf(own) } }),
    cluster,
    managed: isManaged,
    installationType: type,
    isRemoteClusterConnected: clusters.some((one) => one.cluster !== OWN_CLUSTER && one.cluster !== 'in-cluster'),
    ingressHost: url,
    internalIngressHost: installation.internalIngressUrl,
    ingressClass: installation.ingressClass,
    ingressController: installation.ingressController,
    gatewayName: installation.gatewayName,
    gatewayNamespace: installation.gatewayNamespace,
    runtimeVersion: installation.version,
    chartVersion: installation.chartVersion,
    installationStatus: hasFailed ? 'FAILED' : hasWorked ? 'COMPLETED' : 'IN_PROGRESS',
    repo: installation.repository,
    managedClusters: clusters.map((one) => toCluster(app, { ...one, runtime: name })),
    managedClustersNum: clusters.length,
    gitProvider: installation.gitProvider && toShownProvider(installation.gitProvider),
    accessMode: installation.accessMode ?? (installation.ingressUrl === undefined ? 'TUNNEL' : 'INGRESS'),
    available: isHeard || tunnel === 'online',
    lastUpdated: timeText(reportedAt),
    isExternalArgoCd: installation.isExternalArgoCd,
  }
}

const InstallationArguments = z.object({
  runtimeName: z.string(),
  runtimeNamespace: z.string().nullish(),
  cluster: z.string(),
  installationType: z.enum(INSTALLATION_TYPES).nullish(),
  managed: z.boolean().nullish(),
  gitProvider: z.enum(GIT_PROVIDERS).nullish(),
  runtimeVersion: z.string(),
  chartVersion: z.string().nullish(),
  componentNames: z.array(z.string().nullable()),
  ingressHost: z.string().nullish(),
  internalIngressHost: z.string().nullish(),
  ingressClass: z.string().nullish(),
  ingressController: z.string().nullish(),
  gatewayName: z.string().nullish(),
  gatewayNamespace: z.string().nullish(),
  repo: z.string().nullish(),
  recover: z.boolean().nullish(),
  accessMode: z.enum(ACCESS_MODES).nullish(),
  isExternalArgoCd: z.boolean().nullish(),
})

function toInstallation(args: z.output<typeof InstallationArguments>): RuntimeInstallation {
  return defined({
    namespace: given(args.runtimeNamespace),
    cluster: given(args.cluster),
    type: given(args.installationType),
    isManaged: given(args.managed),
    gitProvider: given(args.gitProvider),
    version: given(args.runtimeVersion),
    chartVersion: given(args.chartVersion),
    components: args.componentNames.flatMap((name) => given(name) ?? []),
    ingressUrl: given(args.ingressHost),
    internalIngressUrl: given(args.internalIngressHost),
    ingressClass: given(args.ingressClass),
    ingressController: given(args.ingressController),
    gatewayName: given(args.gatewayName),
    gatewayNamespace: given(args.gatewayNamespace),
    repository: given(args.repo),
    accessMode: given(args.accessMode),
    isExternalArgoCd: given(args.isExternalArgoCd),
  })
}

export const runtimeMutations: Fields<PlatformCall> = {
  createRuntime: field(
    z.object({ installationArgs: InstallationArguments }),
    async ({ installationArgs: args }, { callRoute }: PlatformCall) => {
      const created = await callRoute('POST /v1/gitops-runtimes/{runtime}/tokens', {
        params: { runtime: args.runtimeName },
        body: { installation: toInstallation(args), isNew: args.recover !== true },
        answer: GitopsTokenCreated,
      })
      return { name: created.runtime, newAccessToken: created.token }
    },
  ),
  deleteRuntime: field(z.object({ name: z.string() }), async ({ name: runtime }, { callRoute }: PlatformCall) => {
    await callRoute('DELETE /v1/gitops-runtimes/{runtime}', { params: { runtime }, answer: z.undefined() })
    return 1
  }),
  reportRuntimeErrors: field(
    z.object({
      reportErrorsArgs: z.object({
        runtime: z.string(),
        errors: z.array(z.object({ level: z.enum(ERROR_LEVELS), message: z.string() }).nullable()),
      }),
    }),
    async ({ reportErrorsArgs: { runtime, errors } }, { callRoute }: PlatformCall) => {
      const reported = await callRoute('PUT /v1/gitops-runtimes/{runtime}/errors', {
        params: { runtime },
        body: { errors: errors.filter((error) => error !== null) },
        answer: GitopsRuntime,
      })
      return reported.errors.length
    },
  ),
}
