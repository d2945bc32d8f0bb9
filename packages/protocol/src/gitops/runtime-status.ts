/**
 * What a GitOps runtime says about itself. Its app-proxy sends it with the token of the runtime, and the server adds what only it sees: which parts were heard, and when
 * (docs/development/adr/0144-status-of-runtimes.md).
 *
 * PUT /v1/gitops-status    RuntimeReport: when something has changed, and at least each 30 s
 * PUT /v1/gitops-clusters  ClusterReport: the clusters that Argo CD knows, in chunks, each minute
 */
import { z } from 'zod'
import { PageQuery, Time } from '../base.ts'
import { GitopsRuntimeName, TUNNEL_STATUSES } from '../runtime/gitops.ts'

/** Silence of an app-proxy after which it counts as not running. Milliseconds. */
export const APP_PROXY_SILENT_MS = 60_000
/** The time between two reports of an app-proxy is at most this. Milliseconds. */
export const APP_PROXY_ALIVE_MS = 30_000

/** In the order in which they are shown: what comes first is needed by what follows. The names are those of the status panel of public runtimes. */
export const RUNTIME_CHECKS = [
  'appProxyStarted',
  'encryptionKey',
  'encryptionIv',
  'defaultGitIntegration',
  'runtimeGitToken',
  'isc',
  'gitSourceConfigured',
  'eventReporterArgoCDToken',
] as const
export type RuntimeCheckName = (typeof RUNTIME_CHECKS)[number]

export const CHECK_STATUSES = ['successful', 'failed', 'unknown'] as const
export type CheckStatus = (typeof CHECK_STATUSES)[number]

/** `gitops`: Argo CD installs the runtime from the shared repository. `helm`: Helm does. */
export const SYNC_MODES = ['gitops', 'helm', 'unknown'] as const
export type SyncMode = (typeof SYNC_MODES)[number]

/** What the server of Argo CD answers to the token of the runtime. `unknown`: the runtime has no token, or the answer is not understood. */
export const ARGO_CD_STATES = ['connected', 'not-authorized', 'not-found', 'unknown'] as const
export type ArgoCdState = (typeof ARGO_CD_STATES)[number]

const Line = z.string().max(1_000)

/** What was found, and what to do if it is not as it should be. */
export const CheckResult = z.object({ status: z.enum(CHECK_STATUSES), description: Line, hint: Line.optional() })
export type CheckResult = z.infer<typeof CheckResult>

/** The app-proxy decides about all checks but `appProxyStarted`. A server leaves out checks that it does not know. */
export const RuntimeReport = z.object({
  version: z.string().max(50),
  checks: z
    .record(z.string().max(50), CheckResult)
    .refine((checks) => Object.keys(checks).length <= 30, 'must have at most 30 checks'),
  syncMode: z.enum(SYNC_MODES),
  argoCd: z.object({ state: z.enum(ARGO_CD_STATES), message: Line.optional() }),
})
export type RuntimeReport = z.infer<typeof RuntimeReport>

export const RuntimeCheck = CheckResult.extend({ name: z.enum(RUNTIME_CHECKS) })
export type RuntimeCheck = z.infer<typeof RuntimeCheck>

/** A reporter of applications. Each has a part of them. */
export const ReporterHealth = z.object({
  shard: z.int().nonnegative(),
  shards: z.int().positive(),
  /** Empty for a reporter of other make, and for a part that never reported. */
  version: z.string(),
  /** Last report; absent for a part that never reported. */
  heardAt: Time.optional(),
  /** Last report that had everything: a reporter that cannot read a namespace says so. */
  completeAt: Time.optional(),
  isBlind: z.boolean(),
  /** There was no report for 20 minutes. */
  isSilent: z.boolean(),
})
export type ReporterHealth = z.infer<typeof ReporterHealth>

export const RuntimeStatus = z.object({
  runtime: GitopsRuntimeName,
  /** All of `RUNTIME_CHECKS`. */
  checks: z.array(RuntimeCheck),
  syncMode: z.enum(SYNC_MODES),
  argoCd: z.object({ state: z.enum(ARGO_CD_STATES), message: z.string().optional() }),
  appProxy: z.object({ version: z.string().optional(), heardAt: Time.optional(), isSilent: z.boolean() }),
  tunnel: z.object({ status: z.enum(TUNNEL_STATUSES), seenAt: Time.optional() }),
  reporters: z.array(ReporterHealth),
  /** Clusters that Argo CD knows, and those of them that it cannot reach. */
  clusters: z.object({ count: z.int().nonnegative(), failed: z.int().nonnegative() }),
  /** Sentences: what is broken, the worst first, each with what to do. Empty if nothing is. */
  problems: z.array(z.string()),
})
export type RuntimeStatus = z.infer<typeof RuntimeStatus>

/** Maximum number of clusters in one chunk. */
export const MAX_CLUSTER_CHUNK = 1_000

export const CONNECTION_STATES = ['successful', 'failed', 'unknown'] as const
export type ConnectionState = (typeof CONNECTION_STATES)[number]

/** Age of a report of clusters after which their states count as unknown. Milliseconds. */
export const CLUSTERS_SILENT_MS = 5 * 60_000

/** A text of one line. Control characters would move what a terminal shows, and PostgreSQL stores no NUL. Longer texts are cut, as Argo CD decides how long they are. */
const cutLine = (longest: number) =>
  z
    .string()
    .overwrite((text) => text.replaceAll(/\p{Cc}+/gu, ' ').slice(0, longest))
    .max(longest)

/** A cluster as the Argo CD of a runtime knows it. Credentials are not a part of it. */
export const ClusterState = z.object({
  name: cutLine(253),
  /** URL of the API server, by which Argo CD knows the cluster. */
  server: z
    .string()
    .min(1)
    .max(500)
    .regex(/^\P{Cc}+$/u, 'must have no control characters'),
  connection: z.object({ state: z.enum(CONNECTION_STATES), message: cutLine(300).optional(), at: Time.optional() }),
  /** Version of Kubernetes. */
  version: cutLine(50).optional(),
  /** Applications that deploy to it, and objects that Argo CD watches there. Argo CD knows both only of clusters that it uses. */
  applications: z.int().nonnegative().optional(),
  resources: z.int().nonnegative().optional(),
})
export type ClusterState = z.infer<typeof ClusterState>

/** A chunk of all clusters. After the last one the server removes those that no chunk had. */
export const ClusterReport = z.object({
  /** Random per report. */
  id: z.string().min(8).max(100),
  isLast: z.boolean(),
  /** Time since the report was begun: what another app-proxy has reported meanwhile stays. Milliseconds. */
  ageMs: z.int().min(0).max(3_600_000),
  clusters: z.array(ClusterState).max(MAX_CLUSTER_CHUNK),
})
export type ClusterReport = z.infer<typeof ClusterReport>

export const ReportedCluster = ClusterState.extend({ runtime: GitopsRuntimeName, reportedAt: Time })
export type ReportedCluster = z.infer<typeof ReportedCluster>

/** Maximum number of clusters of a page. */
const MAX_CLUSTER_PAGE = 100

export const ReportedClusterQuery = PageQuery.extend({
  runtime: GitopsRuntimeName.optional(),
  limit: z.coerce.number().int().min(1).max(MAX_CLUSTER_PAGE).default(MAX_CLUSTER_PAGE),
  /** It has the name and the URL of a cluster. */
  cursor: z.string().min(1).max(8_000).optional(),
})
export type ReportedClusterQuery = z.output<typeof ReportedClusterQuery>
