/** Fields about GitOps runtimes and the clusters to which they deploy. */
import {
  field,
  MAX_SLICE,
  Pagination,
  timeText,
  toPlatformStatus,
  toShownProvider,
  toSlice,
  type Fields,
} from '@windlass/graphql'
import { defined, isFault } from '@windlass/kit'
import {
  ACCESS_MODES,
  Application,
  CLUSTERS_SILENT_MS,
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
import { openClusterStates, type StoredCluster } from '../../gitops/status/show-clusters.ts'
import { applicationOf, errorsOf, given, metadataOf, statesOf } from './entities.ts'
import { listField, type PlatformCall } from './platform-call.ts'

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
  runtimes: listField(z.object({ pagination: Pagination }), async ({ pagination }, call) => {
    const { items } = await call.callRoute('GET /v1/gitops-runtimes', { answer: page(GitopsRuntime) })
    const slice = toSlice(items, ({ name }) => name, pagination)
    // Without the applications that install them: each would be one more call.
    const edges = slice.edges.map(({ node, cursor }) => ({ cursor, node: toRuntime(call, node, undefined) }))
    return { ...slice, edges }
  }),
  clusters: listField(
    z.object({ runtime: z.string().nullish(), pagination: Pagination }),
    async ({ runtime: name, pagination }, call) => {
      const { callRoute } = call
      const runtime = given(name)
      const runtimes =
        runtime === undefined
          ? (await callRoute('GET /v1/gitops-runtimes', { answer: page(GitopsRuntime) })).items
          : [await callRoute('GET /v1/gitops-runtimes/{runtime}', { params: { runtime }, answer: GitopsRuntime })]
      const { edges, pageInfo } = toSlice(
        runtimes.flatMap(targetsOf),
        ({ runtime: of, cluster }) => `${of}/${cluster}`,
        pagination,
      )
      const shown = await showClusters(
        call,
        edges.map(({ node }) => node),
      )
      return { edges: edges.map(({ cursor }, at) => ({ cursor, node: shown[at] })), pageInfo }
    },
  ),
}

/** A cluster to which applications of a runtime deploy. */
interface Target {
  readonly runtimeId: string
  readonly runtime: string
  /** Its name or URL. */
  readonly cluster: string
  readonly applications: number
}

function targetsOf({ id, name, clusters }: GitopsRuntime): Target[] {
  return clusters.map((one) => ({ ...one, runtime: name, runtimeId: id }))
}

/** Returns clusters with what the Argo CDs of their runtimes say about them, in the same order. */
async function showClusters({ app, requireRoute }: PlatformCall, targets: readonly Target[]): Promise<object[]> {
  await requireRoute('GET /v1/gitops-clusters')
  const find = await openClusterStates(app, targets)
  return targets.map((target) => toCluster(app, target, find(target)))
}

function toCluster(app: App, { runtime, cluster, applications }: Target, found: StoredCluster | undefined): object {
  const isUrl = /^https?:\/\//.test(cluster)
  const name = cluster === OWN_CLUSTER ? 'in-cluster' : cluster
  return {
    metadata: metadataOf(app, { kind: 'Cluster', name, runtime, cluster: isUrl ? cluster : undefined }),
    server: isUrl ? cluster : found?.server,
    info: {
      connectionState: connectionOf(app, found),
      serverVersion: found?.version,
      cacheInfo: found?.resources === undefined ? undefined : { resourcesCount: found.resources },
      applicationsCount: applications,
    },
  }
}

function connectionOf({ clock }: App, found: StoredCluster | undefined): object {
  if (found === undefined) return { status: toPlatformStatus('connection', 'unknown') }
  const { connection, reportedAt } = found
  const attemptedAt = timeText(connection.at)
  if (clock.now() - reportedAt <= CLUSTERS_SILENT_MS)
    return { status: toPlatformStatus('connection', connection.state), message: connection.message, attemptedAt }
  const message = `The runtime has not reported its clusters since ${timeText(reportedAt)}.`
  return { status: toPlatformStatus('connection', 'unknown'), message, attemptedAt }
}

/** Returns a runtime with the application that installs it, if its namespace is known and its reporter has reported one. */
async function runtimeOf(call: PlatformCall, runtime: GitopsRuntime): Promise<object> {
  const { namespace } = runtime.installation
  if (namespace === undefined) return toRuntime(call, runtime, undefined)
  const params = { id: `${runtime.name}/${namespace}/${runtime.name}` }
  const own = await call.callRoute('GET /v1/applications/{id}', { params, answer: Application }).catch((error: unknown) => {
    if (isFault(error, 'not-found')) return undefined
    throw error
  })
  return toRuntime(call, runtime, own)
}

function toRuntime(call: PlatformCall, runtime: GitopsRuntime, own: Application | undefined): object {
  const { app } = call
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
    // Read only if the request asks for it.
    managedClusters: () => showClusters(call, targetsOf(runtime).slice(0, MAX_SLICE)),
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
