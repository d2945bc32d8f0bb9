/** Settings of a pipeline beside its document, and of the account; what the pipeline leaves open, the account decides. */
import { z } from 'zod'
import { Name } from './base.ts'

const Quantity = z
  .string()
  .max(50)
  .regex(/^[0-9]+(\.[0-9]+)?(m|k|Ki|M|Mi|G|Gi|T|Ti)?$/, 'must be a Kubernetes quantity such as 500m or 2Gi')

/** Switches that builds of the pipeline have on, whatever their run says; a run can switch more on. */
export const PipelineOptions = z.object({
  /** Build images without the layer cache of the daemon. */
  noCache: z.boolean().default(false),
  /** Build images without the images of earlier builds as cache. */
  noCfCache: z.boolean().default(false),
  /** Begin with an empty shared volume. */
  resetVolume: z.boolean().default(false),
  /** Tell the outside of builds that people started, too. */
  enableNotifications: z.boolean().default(false),
  /** Keep the volume of a build that waits for approval for it alone; the account decides when absent. */
  keepPVCsForPendingApproval: z.boolean().optional(),
  /** A build that waits for approval counts against the limits of the pipeline; the account decides when absent. */
  pendingApprovalConcurrencyApplied: z.boolean().optional(),
})

/**
 * Which builds are ended because of another one. `branch` with `onCreate`: a new build ends earlier ones of its branch (of any branch with
 * `ignoreBranch`; only when its branch matches `branchName`, a regular expression; of any trigger with `ignoreTrigger`). `annotation` with
 * `onCreate`: earlier ones with the same annotation. `annotation` with `onTerminate`: builds whose annotation `key` is the id of a build
 * of this pipeline that is terminated (`cf_predecessor`: the builds it started).
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

/** Most bytes of log; output beyond is dropped with a marker. The smallest of server, runtime, pipeline and run counts. */
export const LogLimits = z.object({ stepBytes: z.int().positive().optional(), buildBytes: z.int().positive().optional() })

export const Machine = z.object({
  /** CPU and memory of the Docker daemon that runs the steps, and size of its disk. */
  cpu: Quantity.optional(),
  memory: Quantity.optional(),
  disk: Quantity.optional(),
})
export type Machine = z.output<typeof Machine>

export const PipelineSettings = z.object({
  description: z.string().max(10_000).optional(),
  labels: z.record(z.string().max(200), z.unknown()).optional(),
  options: PipelineOptions.prefault({}),
  machine: Machine.prefault({}),
  terminationPolicy: z.array(TerminationPolicy).max(20).default([]),
  permitRestartFromFailedSteps: z.boolean().optional(),
  logLimits: LogLimits.prefault({}),
  /** Longest silence and longest age of a build, milliseconds; the runtime environment decides when absent. */
  inactiveMs: z.int().positive().optional(),
  buildMs: z.int().positive().optional(),
  /** Which clusters steps can reach; all when absent. */
  clusters: z.array(Name).max(100).optional(),
  /** What the document says beside this, as written. */
  kept: z.record(z.string(), z.unknown()).optional(),
})
export type PipelineSettings = z.output<typeof PipelineSettings>

export const AccountSettings = z.object({
  /** New builds wait; those that run go on. */
  pauseBuilds: z.boolean().default(false),
  /** Most builds at once; unlimited when absent. */
  concurrency: z.int().min(0).optional(),
  /** Builds that wait for longer are ended, and the oldest when more wait. */
  maxQueuedDays: z.number().positive().max(365).default(7),
  maxQueuedBuilds: z.int().positive().max(1_000_000).default(1000),
  permitRestartFromFailedSteps: z.boolean().default(true),
  keepPVCsForPendingApproval: z.boolean().default(false),
  pendingApprovalConcurrencyApplied: z.boolean().default(false),
  /** Whether people are asked once more before they decide about an approval; for the user interface. */
  approvalConfirmation: z.enum(['none', 'all', 'approve', 'reject']).default('none'),
  /** What a build step does that says nothing of pushing: `explicit` pushes when it names a registry, or there is a default one. */
  autoPush: z.enum(['explicit', 'always', 'never']).default('explicit'),
  lowMemoryWarningThreshold: z.enum(['70', '90', '100']).default('90'),
  logLimits: LogLimits.prefault({}),
})
export type AccountSettings = z.output<typeof AccountSettings>
/** What a PUT takes: fields that are left out have their defaults again. A key that has no effect is told, not dropped. */
export const AccountSettingsInput = z.strictObject(AccountSettings.shape)
