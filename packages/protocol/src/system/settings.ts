/** Settings of a pipeline besides its document, and of the account. The account provides the defaults for pipelines. */
import { z } from 'zod'
import { Name } from '../base.ts'

const Quantity = z
  .string()
  .max(50)
  .regex(/^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$/, 'must be a Kubernetes quantity such as 500m or 2Gi')

/** Options that are enabled for all builds of the pipeline. A run can enable more. */
export const PipelineOptions = z.object({
  /** Build images without the layer cache of the daemon. */
  noCache: z.boolean().default(false),
  /** Build images without the images of earlier builds as cache. */
  noCfCache: z.boolean().default(false),
  /** Start with an empty shared volume. */
  resetVolume: z.boolean().default(false),
  /** Send notifications for manually started builds, too. */
  enableNotifications: z.boolean().default(false),
  /** Report the state of builds that Git triggers start at their commits, in the forge. */
  commitStatus: z.boolean().default(true),
  /** Reserve the volume of a build that waits for approval. Default: the setting of the account. */
  keepPVCsForPendingApproval: z.boolean().optional(),
  /** Count builds that wait for approval against the limits of the pipeline. Default: the setting of the account. */
  pendingApprovalConcurrencyApplied: z.boolean().optional(),
})

/**
 * Rules for terminating builds because of another build.
 *
 * - `branch` with `onCreate`: a new build terminates earlier builds of its branch. `ignoreBranch` includes all branches, `ignoreTrigger` all
 *   triggers. `branchName` is a regular expression that the branch must match.
 * - `annotation` with `onCreate`: a new build terminates earlier builds with the same annotation.
 * - `annotation` with `onTerminate`: if a build of this pipeline is terminated, builds whose annotation `key` is its id are terminated
 *   (`cf_predecessor`: the builds that it started).
 */
export const TerminationPolicy = z.discriminatedUnion('type', [
  z.object({
    type: z.literal('branch'),
    event: z.literal('onCreate').default('onCreate'),
    ignoreBranch: z.boolean().default(false),
    ignoreTrigger: z.boolean().default(false),
    branchName: z.string().max(1000).optional(),
  }),
  z.object({
    type: z.literal('annotation'),
    event: z.enum(['onCreate', 'onTerminate']),
    key: z.string().min(1).max(200),
    value: z.string().max(1000).optional(),
  }),
])
export type TerminationPolicy = z.output<typeof TerminationPolicy>

/** Maximum log size, bytes. Further output is dropped, with a marker. The smallest limit of server, runtime, pipeline and run applies. */
export const LogLimits = z.object({ stepBytes: z.int().positive().optional(), buildBytes: z.int().positive().optional() })

export const Machine = z.object({
  /** CPU of the Docker daemon that runs the steps. */
  cpu: Quantity.optional(),
  /** Memory of the Docker daemon that runs the steps. */
  memory: Quantity.optional(),
  /** Size of the disk of the Docker daemon. */
  disk: Quantity.optional(),
})
export type Machine = z.output<typeof Machine>

const StartedBy = z
  .string()
  .max(150)
  .regex(/^(\*|[A-Za-z0-9][A-Za-z0-9._@:/-]*(\/\*)?)$/, 'must be the name of a pipeline, project/* or *')

export const PipelineSettings = z.object({
  description: z.string().max(10_000).optional(),
  labels: z.record(z.string().max(200), z.unknown()).optional(),
  options: PipelineOptions.prefault({}),
  machine: Machine.prefault({}),
  terminationPolicy: z.array(TerminationPolicy).max(20).default([]),
  permitRestartFromFailedSteps: z.boolean().optional(),
  logLimits: LogLimits.prefault({}),
  /** Inactivity timeout of a build, milliseconds. Default: the limit of the runtime environment. */
  inactiveMs: z.int().positive().optional(),
  /** Maximum duration of a build, milliseconds. Default: the limit of the runtime environment. */
  buildMs: z.int().positive().optional(),
  /**
   * Pipelines whose steps may start this one with the API key of the step, in addition to the pipelines of its project: `project/name`,
   * `project/*`, or `*` for all pipelines of the account.
   */
  startedBy: z.array(StartedBy).max(100).default([]),
  /** The step `main_clone` that is added to a document without one, with the repository of the trigger. */
  mainClone: z
    .object({
      /** Default: the setting of the account. */
      automatic: z.boolean().optional(),
      /** `owner/name` or a URL, for builds without a trigger. */
      repo: z.string().min(1).max(1000).optional(),
      /** Name of the Git context. Default: the default one. */
      git: Name.optional(),
    })
    .prefault({}),
  /** Any person may see the badge of the pipeline, and the status and logs of its builds, without an account. */
  isPublic: z.boolean().default(false),
  /** Clusters that steps can use. Default: all. */
  clusters: z.array(Name).max(100).optional(),
  /** Other settings of the document, as written. */
  kept: z.record(z.string(), z.unknown()).optional(),
})
export type PipelineSettings = z.output<typeof PipelineSettings>

/** Tags of runtime environments that are given to teams, and the teams of one tag. */
const MAX_TAGS = 200
const MAX_TEAMS = 100

/**
 * Tag of runtime environments -> names of teams. Only members of a team of one of its tags, and admins, see and use a runtime environment with such a tag. Tags
 * that are not listed restrict nothing.
 */
const RuntimeAccess = z
  .record(z.string().min(1).max(100), z.array(Name).max(MAX_TEAMS))
  .refine((tags) => Object.keys(tags).length <= MAX_TAGS, `must have at most ${MAX_TAGS} tags`)

export const AccountSettings = z.object({
  /** New builds wait; running builds continue. */
  pauseBuilds: z.boolean().default(false),
  /** Why new builds wait. Every build that waits for the end of the pause repeats it. */
  pauseReason: z.string().trim().min(1).max(500).optional(),
  /** Maximum number of concurrent builds. Default: unlimited. */
  concurrency: z.int().min(0).optional(),
  /** Maximum time in the queue, days. Builds that wait longer are ended. */
  maxQueuedDays: z.number().positive().max(365).default(7),
  /** Maximum number of queued builds. If more are waiting, the oldest are ended. */
  maxQueuedBuilds: z.int().positive().max(1_000_000).default(1000),
  permitRestartFromFailedSteps: z.boolean().default(true),
  keepPVCsForPendingApproval: z.boolean().default(false),
  pendingApprovalConcurrencyApplied: z.boolean().default(false),
  /** Pipelines that the steps of a build may start: those of its `project` and those that list it in `startedBy`, or all of the `account`. */
  childBuilds: z.enum(['project', 'account']).default('project'),
  /** Adds a step `main_clone` to the documents of all pipelines whose settings do not say otherwise. */
  automaticClone: z.boolean().default(false),
  /** Whether the user interface asks for confirmation before an approval is decided. */
  approvalConfirmation: z.enum(['none', 'all', 'approve', 'reject']).default('none'),
  /** Whether a build step without push settings pushes: `explicit` pushes if it names a registry, or if there is a default registry. */
  autoPush: z.enum(['explicit', 'always', 'never']).default('explicit'),
  lowMemoryWarningThreshold: z.enum(['70', '90', '100']).default('90'),
  /** Lifetime of the ID tokens of steps. Seconds. */
  oidcTokenSeconds: z.int().min(60).max(3600).default(300),
  logLimits: LogLimits.prefault({}),
  runtimeAccess: RuntimeAccess.default({}),
})
export type AccountSettings = z.output<typeof AccountSettings>
/**
 * Body of PUT. Omitted fields are reset to their defaults, except `runtimeAccess`, which stays: a client that does not know it must not open all runtime environments.
 * Unknown keys are rejected.
 */
export const AccountSettingsInput = z.strictObject({ ...AccountSettings.shape, runtimeAccess: RuntimeAccess.optional() })
export type AccountSettingsInput = z.output<typeof AccountSettingsInput>
