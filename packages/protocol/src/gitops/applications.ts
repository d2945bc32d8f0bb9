/**
 * Applications of Argo CD in `/v1`, as the reporters of GitOps runtimes report them (docs/development/adr/0130-reported-applications.md). The names of states are those
 * of Argo CD in the spelling of this API.
 */
import { z } from 'zod'
import { Id, PageQuery, Time } from '../base.ts'
import { GitopsRuntimeName } from '../runtime/gitops.ts'

/** From the worst to the best. `unknown`: Argo CD does not know it, or uses a word that this version does not know. */
export const APPLICATION_HEALTHS = ['degraded', 'missing', 'unknown', 'progressing', 'suspended', 'healthy'] as const
export type ApplicationHealth = (typeof APPLICATION_HEALTHS)[number]

export const APPLICATION_SYNCS = ['synced', 'out-of-sync', 'unknown'] as const
export type ApplicationSync = (typeof APPLICATION_SYNCS)[number]

export const SYNC_PHASES = ['running', 'terminating', 'succeeded', 'failed', 'error', 'unknown'] as const
export type SyncPhase = (typeof SYNC_PHASES)[number]

/** Silence of the reporter of a runtime after which the states of its applications may be out of date. Milliseconds. */
export const REPORTER_SILENT_MS = 20 * 60_000

/** Where manifests come from. An application has one or several. */
export const ApplicationSource = z.object({
  repo: z.string(),
  path: z.string().optional(),
  /** Branch, tag, commit or version that the application follows. */
  revision: z.string().optional(),
  chart: z.string().optional(),
  name: z.string().optional(),
})
export type ApplicationSource = z.infer<typeof ApplicationSource>

/** A problem that Argo CD or the reporter found. */
export const ApplicationCondition = z.object({
  type: z.string(),
  message: z.string(),
  at: Time.optional(),
})
export type ApplicationCondition = z.infer<typeof ApplicationCondition>

/** The sync that runs, or the last one. */
export const SyncOperation = z.object({
  phase: z.enum(SYNC_PHASES),
  message: z.string().optional(),
  startedAt: Time.optional(),
  finishedAt: Time.optional(),
  /** Who started it; absent if Argo CD did. */
  by: z.string().optional(),
  retries: z.int().nonnegative().optional(),
  /** The commit that it applied, or several of an application with several sources. */
  revisions: z.array(z.string()).optional(),
})
export type SyncOperation = z.infer<typeof SyncOperation>

/** An object in the cluster that belongs to an application. */
export const ApplicationResource = z.object({
  group: z.string().optional(),
  kind: z.string(),
  namespace: z.string().optional(),
  name: z.string(),
  /** Absent for hooks, which are not compared. */
  sync: z.enum(APPLICATION_SYNCS).optional(),
  /** Absent for kinds whose health Argo CD does not check. */
  health: z.enum(APPLICATION_HEALTHS).optional(),
  message: z.string().optional(),
  isHook: z.boolean().optional(),
  /** The source does not have it anymore. A sync with pruning deletes it. */
  isExtra: z.boolean().optional(),
})
export type ApplicationResource = z.infer<typeof ApplicationResource>

export const Application = z.object({
  id: Id,
  runtime: GitopsRuntimeName,
  namespace: z.string(),
  name: z.string(),
  /** AppProject of Argo CD; not a project of pipelines. */
  project: z.string(),
  sources: z.array(ApplicationSource),
  destination: z.object({ server: z.string().optional(), name: z.string().optional(), namespace: z.string().optional() }),
  health: z.enum(APPLICATION_HEALTHS),
  healthMessage: z.string().optional(),
  sync: z.enum(APPLICATION_SYNCS),
  /** The commit, or the version of a chart, with which the cluster was compared. Several for several sources. */
  revisions: z.array(z.string()),
  /** True if Argo CD syncs by itself. */
  isAutomatic: z.boolean(),
  operation: SyncOperation.optional(),
  conditions: z.array(ApplicationCondition),
  images: z.array(z.string()),
  /** Number of resources, also of those that `resources` leaves out. */
  resourceCount: z.int().nonnegative(),
  /** One or two sentences: why the application is not healthy or not synced. Absent if it is both. */
  why: z.string().optional(),
  /** Labels of the application; absent if its reporter is of an earlier version. */
  labels: z.record(z.string(), z.string()).optional(),
  /** True while Argo CD deletes the application. */
  isDeleting: z.boolean(),
  /** Since when it has its health and its sync state. */
  since: Time,
  /** Last report of the runtime, if that is so long ago that the states may be out of date. */
  silentSince: Time.optional(),
  /** When the state was read in the cluster. */
  reportedAt: Time,
  /** When the application was created in the cluster. */
  createdAt: Time,
})
export type Application = z.infer<typeof Application>

export const ApplicationDetails = Application.extend({
  /** Those that are not healthy or not synced come first. At most `MAX_APPLICATION_RESOURCES`. */
  resources: z.array(ApplicationResource),
})
export type ApplicationDetails = z.infer<typeof ApplicationDetails>

/** A deployment of an application, as its runtime has reported it. */
export const ReportedDeployment = z.object({
  /** Of the history of Argo CD, to which a rollback can return. */
  id: z.int().nonnegative(),
  revisions: z.array(z.string()),
  at: Time.optional(),
  /** Who synced; absent if Argo CD did. */
  by: z.string().optional(),
  /** The last health while it was deployed, without those of syncs that ran or failed. */
  health: z.enum(APPLICATION_HEALTHS),
})
export type ReportedDeployment = z.infer<typeof ReportedDeployment>

export const APPLICATION_SORTS = ['name', 'health', 'changed'] as const
export type ApplicationSort = (typeof APPLICATION_SORTS)[number]

export const ApplicationQuery = PageQuery.extend({
  cursor: z.string().min(1).max(600).optional(),
  runtime: GitopsRuntimeName.optional(),
  namespace: z.string().min(1).max(63).optional(),
  project: z.string().min(1).max(253).optional(),
  health: z.enum(APPLICATION_HEALTHS).optional(),
  sync: z.enum(APPLICATION_SYNCS).optional(),
  /** A part of the name. */
  q: z.string().min(1).max(253).optional(),
  /** `health`: the worst first. `changed`: those whose state changed last first. */
  sort: z.enum(APPLICATION_SORTS).default('name'),
})
export type ApplicationQuery = z.output<typeof ApplicationQuery>
