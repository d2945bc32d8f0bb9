/**
 * Applications of Argo CD as the app-proxy of a GitOps runtime reads them in its cluster, and the operations on them. What the server shows of them comes from reporters
 * and is in `../gitops/applications.ts` (docs/development/adr/0135-operations-on-applications.md).
 */
import { z } from 'zod'
import { Time } from '../base.ts'
import {
  APPLICATION_HEALTHS,
  APPLICATION_SYNCS,
  ApplicationCondition,
  ApplicationResource,
  ApplicationSource,
  SyncOperation,
} from '../gitops/applications.ts'

/** Name of an object of Kubernetes. */
export const ApplicationName = z
  .string()
  .regex(/^[a-z0-9](?:[a-z0-9.-]{0,251}[a-z0-9])?$/, 'must be the name of an application: lower-case letters, digits, - and .')

/** A state of the history, to which a rollback can return. */
export const ApplicationDeployment = z.object({
  id: z.int().nonnegative(),
  revisions: z.array(z.string()),
  at: Time.optional(),
  /** Who synced; absent if Argo CD did. */
  by: z.string().optional(),
})
export type ApplicationDeployment = z.infer<typeof ApplicationDeployment>

/** What one sync did to one object. */
export const SyncedResource = ApplicationResource.pick({ group: true, kind: true, namespace: true, name: true }).extend({
  /** The word of Argo CD: `Synced`, `SyncFailed`, `Pruned`, `PruneSkipped`, or the phase of a hook. */
  result: z.string(),
  message: z.string().optional(),
  /** Phase of a hook: `PreSync`, `Sync`, `PostSync` or `SyncFail`. */
  hook: z.string().optional(),
})
export type SyncedResource = z.infer<typeof SyncedResource>

export const RuntimeApplication = z.object({
  name: z.string(),
  /** AppProject of Argo CD. */
  project: z.string(),
  sources: z.array(ApplicationSource),
  destination: z.object({ server: z.string().optional(), name: z.string().optional(), namespace: z.string().optional() }),
  health: z.enum(APPLICATION_HEALTHS),
  healthMessage: z.string().optional(),
  sync: z.enum(APPLICATION_SYNCS),
  /** With which the cluster was compared. */
  revisions: z.array(z.string()),
  /** True if Argo CD syncs by itself. */
  isAutomatic: z.boolean(),
  /** True while Argo CD deletes it. */
  isDeleting: z.boolean(),
  /** True while a sync waits or runs. */
  isBusy: z.boolean(),
  operation: SyncOperation.optional(),
  conditions: z.array(ApplicationCondition),
  createdAt: Time,
})
export type RuntimeApplication = z.infer<typeof RuntimeApplication>

export const RuntimeApplicationDetails = RuntimeApplication.extend({
  resources: z.array(ApplicationResource),
  /** What the last sync did. */
  results: z.array(SyncedResource),
  /** Newest first. */
  history: z.array(ApplicationDeployment),
  /** The application whose source has its manifest, which creates it again after a deletion. Absent if there is none. */
  parent: z.string().optional(),
})
export type RuntimeApplicationDetails = z.infer<typeof RuntimeApplicationDetails>

/** A branch, a tag, a commit, or the version of a chart. */
const Revision = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[^\s\p{Cc}]+$/u, 'must be a branch, a tag, a commit or a version')

const Name = z
  .string()
  .min(1)
  .max(253)
  .regex(/^[\w.:*-]+$/, 'must be a name of Kubernetes')

/** Names one object of an application. An empty group is the core one. */
export const ResourceKey = z.strictObject({
  group: z.union([z.literal(''), Name]).default(''),
  kind: Name,
  namespace: z.union([z.literal(''), Name]).default(''),
  name: Name,
})
export type ResourceKey = z.output<typeof ResourceKey>

/** Options of Argo CD that are `NAME=true` or `NAME=false`. */
export const SYNC_FLAGS = [
  'ApplyOutOfSyncOnly',
  'CreateNamespace',
  'FailOnSharedResource',
  'PruneLast',
  'Replace',
  'RespectIgnoreDifferences',
  'ServerSideApply',
  'Validate',
] as const

/** A sync option of Argo CD. */
export const SyncOption = z
  .string()
  .regex(
    new RegExp(`^(?:(?:${SYNC_FLAGS.join('|')})=(?:true|false)|PrunePropagationPolicy=(?:foreground|background|orphan))$`),
    `must be ${SYNC_FLAGS.join(', ')} with =true or =false, or PrunePropagationPolicy=foreground, background or orphan`,
  )

/** A number and a unit, such as `5s`, as Go writes it. */
const GoDuration = z.string().regex(/^\d{1,6}(?:ms|s|m|h)$/, 'must be a number with ms, s, m or h')

export const SyncInput = z.strictObject({
  /** Default: what the application follows. Another one is refused for an application that syncs automatically. */
  revision: Revision.optional(),
  /** Delete what the source does not have anymore. */
  prune: z.boolean().default(false),
  dryRun: z.boolean().default(false),
  /** Delete and create objects that cannot be changed. */
  force: z.boolean().default(false),
  /** Apply the manifests without the hooks. */
  applyOnly: z.boolean().default(false),
  /** In addition to those of the application. One of the same name wins. */
  options: z.array(SyncOption).max(20).default([]),
  /** Default: all. Without a given one, hooks do not run. */
  resources: z.array(ResourceKey).max(1_000).default([]),
  retry: z
    .strictObject({
      /** -1: without an end. */
      limit: z.int().min(-1).max(100),
      duration: GoDuration.default('5s'),
      factor: z.int().min(1).max(10).default(2),
      maxDuration: GoDuration.default('3m'),
    })
    .optional(),
})
export type SyncInput = z.output<typeof SyncInput>

export const RollbackInput = z.strictObject({
  /** Default: the deployment before the last one. */
  id: z.int().nonnegative().optional(),
  prune: z.boolean().default(false),
  dryRun: z.boolean().default(false),
})
export type RollbackInput = z.output<typeof RollbackInput>

export const RefreshInput = z.strictObject({
  /** Load the manifests again, also if the commit is the same. */
  hard: z.boolean().default(false),
})

export const CASCADES = ['foreground', 'background', 'none'] as const
export const ApplicationRemoval = z.object({
  /** What happens to the objects of the application; `none`: they stay. */
  cascade: z.enum(CASCADES).default('foreground'),
})

/** An object of the live state of an application: one of its source, or one that such an object has created. */
export const ResourceNode = z.object({
  group: z.string().optional(),
  version: z.string().optional(),
  kind: z.string(),
  namespace: z.string().optional(),
  name: z.string(),
  uid: z.string().optional(),
  /** Uids of the objects that it belongs to. */
  parents: z.array(z.string()),
  health: z.enum(APPLICATION_HEALTHS).optional(),
  message: z.string().optional(),
  /** Facts such as `Revision: Rev:2`. */
  info: z.array(z.object({ name: z.string(), value: z.string() })),
  images: z.array(z.string()),
  createdAt: Time.optional(),
})
export type ResourceNode = z.infer<typeof ResourceNode>

/** An object of the source that differs from the cluster. */
export const ResourceDifference = z.object({
  group: z.string().optional(),
  kind: z.string(),
  namespace: z.string().optional(),
  name: z.string(),
  change: z.enum(['create', 'update', 'delete']),
  /** The object in the cluster, without fields that the comparison ignores. Values of Secrets are hidden. */
  live: z.unknown().optional(),
  /** The object after a sync. */
  target: z.unknown().optional(),
})
export type ResourceDifference = z.infer<typeof ResourceDifference>

/** A line of the log of a container. */
export const LogLine = z.object({
  pod: z.string(),
  /** As the node of the pod wrote it, with nanoseconds. */
  at: z.string().optional(),
  text: z.string(),
  /** True if the line is longer, and only its beginning is here. */
  isCut: z.boolean().optional(),
})
export type LogLine = z.infer<typeof LogLine>

/** Bytes of the newest lines that one answer has. */
export const MAX_LOG_BYTES = 4_194_304
/** Characters of a line. */
export const MAX_LOG_LINE = 16_384

/** The newest lines of the log of a container, oldest first. */
export const ContainerLog = z.object({
  items: z.array(LogLine),
  /** True if there were more lines than were asked for, or than one answer has. The earlier ones are left out. */
  isCut: z.boolean().optional(),
})
export type ContainerLog = z.infer<typeof ContainerLog>

export const ContainerLogQuery = z.object({
  pod: Name,
  namespace: Name,
  container: Name.optional(),
  /** Number of lines from the end. */
  tail: z.coerce.number().int().min(1).max(5_000).default(500),
  previous: z.stringbool().default(false),
  /** Age of the oldest line. Seconds. */
  since: z.coerce.number().int().min(1).max(31_536_000).optional(),
  /** `at` of a line that the caller has. The answer begins some seconds before it, because Kubernetes counts in seconds and clocks differ. */
  after: z.iso.datetime({ offset: true }).optional(),
})
export type ContainerLogQuery = z.output<typeof ContainerLogQuery>

/** An event that Kubernetes or Argo CD recorded of an application or of one of its objects. */
export const ApplicationEvent = z.object({
  type: z.string(),
  reason: z.string(),
  message: z.string(),
  at: Time.optional(),
  count: z.int().nonnegative().optional(),
})
export type ApplicationEvent = z.infer<typeof ApplicationEvent>

export const EventQuery = z.object({
  /** Default: those of the application itself. */
  uid: z
    .string()
    .regex(/^[0-9a-f-]{36}$/i, 'must be the uid of an object')
    .optional(),
  name: Name.optional(),
  namespace: Name.optional(),
})
export type EventQuery = z.output<typeof EventQuery>

/** An object as the cluster has it. Values of Secrets are hidden. */
export const ResourceManifest = z.object({ manifest: z.record(z.string(), z.unknown()) })
export type ResourceManifest = z.infer<typeof ResourceManifest>
