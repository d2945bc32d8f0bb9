/**
 * Delivery pipelines of a GitOps runtime: an event source and a sensor of Argo Events, and the workflow that they start, as files in a Git source (docs/development/adr/0160-delivery-pipelines.md).
 * The app-proxy writes them with the Git token of the caller.
 */
import { z } from 'zod'
import { OtherChange } from './gitops-application-files.ts'
import { CommitMessage, GitSourceName, RepositoryChange } from './gitops-repository.ts'
import { WorkflowName } from './gitops-workflows.ts'
import { problemOfRepositoryUrl, RepositoryUrl, splitRepositoryUrl } from './repository-url.ts'

export const DELIVERY_EVENTS = ['push', 'pull-request'] as const
export type DeliveryEvent = (typeof DELIVERY_EVENTS)[number]

/** The Service of its event source adds 16 characters, and its triggers add the event. */
const DeliveryPipelineName = z
  .string()
  .regex(
    /^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/,
    'must have at most 40 lower-case letters, digits and -, begin with a letter, and end with a letter or digit',
  )

const KubeName = WorkflowName.max(63)

/** What the template of the pipeline runs: a script in a container, in a clone of the commit. */
export const DeliveryScript = z.strictObject({
  image: z
    .string()
    .min(1)
    .max(500)
    .regex(/^[\x21-\x7e]+$/, 'must be the name of an image'),
  script: z
    .string()
    .min(1)
    .max(20_000)
    .refine((text) => text.isWellFormed() && !text.includes('\0'), 'must be a text'),
  /** Secret in the namespace of the runtime whose keys `username` and `password` clone the repository. Default: nothing is needed for that. */
  gitSecret: KubeName.optional(),
})
export type DeliveryScript = z.output<typeof DeliveryScript>

export const NewDeliveryPipeline = z
  .strictObject({
    name: DeliveryPipelineName,
    /** The repository whose events start it. A Git integration of the runtime has its forge. */
    repository: RepositoryUrl.refine((url) => {
      if (problemOfRepositoryUrl(url) !== undefined) return true
      const { path, branch } = splitRepositoryUrl(url)
      return path === '' && branch === undefined
    }, 'must be the URL of a repository, without a folder and a branch'),
    /** The branch that is pushed, or into which a pull request goes. Default: any. */
    branch: z
      .string()
      .min(1)
      .max(250)
      .regex(/^[^\p{Cc}\s~^:?*[\\]+$/u, 'must be the name of a branch')
      .optional(),
    events: z
      .array(z.enum(DELIVERY_EVENTS))
      .min(1)
      .max(DELIVERY_EVENTS.length)
      .refine((events) => new Set(events).size === events.length, 'must not repeat an event')
      .default(['push']),
    run: DeliveryScript.optional(),
    /** A WorkflowTemplate of the runtime, instead of `run`. It gets the parameters `repository`, `branch` and `revision`. */
    workflowTemplate: KubeName.optional(),
    /** Account of the namespace with which the sensor creates workflows. Default: `default`, which usually may not. */
    serviceAccount: KubeName.optional(),
    /** Default: the only one of the runtime. */
    gitSource: GitSourceName.optional(),
    /** Create the webhook at the forge, which calls the event source. */
    webhook: z.boolean().default(true),
    message: CommitMessage.optional(),
    /** Answer with the files, and change nothing. */
    dryRun: z.boolean().default(false),
  })
  .refine(
    ({ run, workflowTemplate }) => (run === undefined) !== (workflowTemplate === undefined),
    'must have either run or workflowTemplate',
  )
export type NewDeliveryPipeline = z.output<typeof NewDeliveryPipeline>

/** `failed`: the commit is made, and the forge does not call the event source. */
const WEBHOOK_STATES = ['created', 'existing', 'failed'] as const

export const DeliveryPipelineChange = z.object({
  name: z.string(),
  gitSource: z.string(),
  /** Of the Git source: URL for git, and branch. */
  repository: z.string(),
  branch: z.string(),
  /** From the root of the repository. */
  files: z.array(z.object({ file: z.string(), text: z.string() })),
  /** Absent for a dry run. */
  commit: RepositoryChange.optional(),
  /** Commits of others after which the commit was made again. */
  others: z.array(OtherChange),
  /** True if Argo CD was asked to look at the Git source. */
  isRefreshed: z.boolean(),
  /** Absent for a dry run, and if none was asked for. */
  webhook: z.object({ url: z.string(), state: z.enum(WEBHOOK_STATES), problem: z.string().optional() }).optional(),
})
export type DeliveryPipelineChange = z.infer<typeof DeliveryPipelineChange>

/** A trigger of a sensor. */
export const DeliveryPipeline = z.object({
  /** Of the trigger. */
  name: z.string(),
  sensor: z.string(),
  gitSource: z.string(),
  /** From the root of the repository of the Git source. */
  file: z.string(),
  /** `EVENT-SOURCE/EVENT` of its dependencies. */
  events: z.array(z.string()),
  /** The WorkflowTemplate of the workflow that it creates; absent if the sensor has the workflow itself, or creates something else. */
  workflowTemplate: z.string().optional(),
})
export type DeliveryPipeline = z.infer<typeof DeliveryPipeline>

export const DeliveryPipelineList = z.object({
  items: z.array(DeliveryPipeline),
  /** Git sources and files that were not read, and why. */
  unread: z.array(z.string()),
})
export type DeliveryPipelineList = z.infer<typeof DeliveryPipelineList>
