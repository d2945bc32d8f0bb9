/** Webhooks of forges, the triggers of pipelines, and deliveries, as `/v1` shows them. */
import { z } from 'zod'
import { Id, Name, PageQuery, Time } from '../base.ts'
import { PipelineVariable } from '../pipelines/pipeline-variable.ts'
import { EVENT_TRIGGER_RULES, Registry } from './registries.ts'
import { Machine, TerminationPolicy, type PipelineOptions } from '../system/settings.ts'

/** Git hosting services whose webhooks the server reads. Gitea includes Forgejo. */
export const FORGES = ['github', 'gitlab', 'bitbucket', 'bitbucket-server', 'gitea', 'azure'] as const
export const Forge = z.enum(FORGES)
export type Forge = z.infer<typeof Forge>

/** Events that a trigger can name. The events of Gerrit are accepted because documents contain them; no webhook reports them. */
export const EVENT_NAMES = [
  'push',
  'push.heads',
  'push.tags',
  'push.newBranch',
  'push.deleteBranch',
  'pullrequest',
  'pullrequest.opened',
  'pullrequest.closed',
  'pullrequest.merged',
  'pullrequest.unmerged-closed',
  'pullrequest.reopened',
  'pullrequest.edited',
  'pullrequest.assigned',
  'pullrequest.unassigned',
  'pullrequest.review_requested',
  'pullrequest.reviewRequested',
  'pullrequest.review_request_removed',
  'pullrequest.reviewRequestRemoved',
  'pullrequest.review.submitted.approved',
  'pullrequest.review.submitted.commented',
  'pullrequest.review.submitted.changes_requested',
  'pullrequest.pushCommit',
  'pullrequest.synchronize',
  'pullrequest.labeled',
  'pullrequest.unlabeled',
  'pullrequest.commentAdded',
  'pullrequest.commentAddedUnrestricted',
  'pullrequest.reviewersUpdate',
  'pullrequest.statusUpdate',
  'pullrequest.reviewerVote',
  'pullrequest.created',
  'pullrequest.updated',
  'release',
  'release.unpublished',
  'release.created',
  'release.edited',
  'release.deleted',
  'release.prereleased',
  'release.released',
  'pullrequest:created',
  'pullrequest:updated',
  'pullrequest:updatedButNoPush',
  'pullrequest:deleted',
  'pullrequest:push_commit',
  'pullrequest:merged',
  'pullrequest:declined',
  'pullrequest:approved',
  'pullrequest:unapproved',
  'pullrequest:needsWork',
  'pullrequest:fulfilled',
  'pullrequest:rejected',
  'pullrequest:comment_created',
  'pullrequest:comment_updated',
  'pullrequest:comment_deleted',
  'change-abandoned',
  'change-deleted',
  'change-merged',
  'change-restored',
  'comment-added',
  'dropped-output',
  'hashtags-changed',
  'project-created',
  'patchset-created',
  'ref-updated',
  'reviewer-added',
  'reviewer-deleted',
  'topic-changed',
  'wip-state-changed',
  'private-state-changed',
  'vote-deleted',
  'project-head-update',
] as const
export const EventName = z.enum(EVENT_NAMES)
export type EventName = z.infer<typeof EventName>

/** The rules of a trigger, in the order in which they are checked. */
export const TRIGGER_RULES = [
  'disabled',
  'event',
  'skip-text',
  'fork',
  'branch',
  'target-branch',
  'comment',
  'comment-author',
  'modified-files',
] as const
export type TriggerRule = (typeof TRIGGER_RULES)[number]

/** Why a delivery or one of its triggers built nothing. The guide of triggers lists them. */
export const NO_BUILD_REASONS = {
  'signature-wrong': 'The signature or the token of the delivery does not belong to the webhook.',
  'payload-invalid': 'The body is not an event of the forge or registry of the webhook.',
  'event-unsupported': 'The event starts no builds, for example a ping.',
  'repository-refused': 'The webhook accepts only events of another repository.',
  'no-trigger': 'No trigger names this repository, image or chart.',
  disabled: 'The trigger is disabled.',
  event: 'The trigger does not name this event.',
  'skip-text': 'The commit message contains a text that skips builds.',
  fork: 'The change comes from a fork, and the trigger does not allow forks or the commit is not known.',
  branch: 'The branch or tag does not match the filter of the trigger.',
  'target-branch': 'The target branch of the pull request does not match the filter of the trigger.',
  comment: 'The comment does not match the filter of the trigger.',
  'comment-author': 'The author of the comment may not start builds.',
  'modified-files': 'No changed file matches the filter of the trigger.',
  'forge-unreachable': 'The filter for files needs the changed files, and the forge did not answer.',
  tag: 'The tag of the image does not match the filter of the trigger.',
  version: 'The version of the chart does not match the filter of the trigger.',
  status: 'The build ended with a status that the trigger does not name.',
  project: 'The build belongs to another project.',
  depth: 'Too many builds have started one another.',
  'already-built': 'Another delivery of the same event has already started this build.',
  'build-refused': 'The build could not be created.',
  'processing-failed': 'The server failed to process the delivery.',
} as const satisfies Readonly<Record<string, string>>
export type NoBuildReason = keyof typeof NO_BUILD_REASONS
export const NoBuildReason = z.enum(Object.keys(NO_BUILD_REASONS) as [NoBuildReason, ...NoBuildReason[]])

/** `owner/name`. GitLab and Azure DevOps have owners with slashes. */
export const RepoName = z
  .string()
  .max(400)
  .regex(/^[^\s/:]+(\/[^\s/:]+)+$/, 'must be the owner and the name of a repository: owner/name')

/** Who calls a webhook: a forge or a registry. */
const Sender = { forge: Forge.optional(), registry: Registry.optional() }
const ONE_SENDER = 'must have either `forge` or `registry`'
function hasOneSender(of: { readonly forge?: Forge | undefined; readonly registry?: Registry | undefined }): boolean {
  return (of.forge === undefined) !== (of.registry === undefined)
}

/** A Git integration of an app-proxy. */
export const ProxyIntegration = z.strictObject({
  /** Name of the GitOps runtime, or of the app-proxy of a Runner. */
  runtime: z.string().min(1).max(40),
  integration: z.string().min(1).max(40),
})
export type ProxyIntegration = z.infer<typeof ProxyIntegration>

/** An address that a forge or a registry calls for each event. */
export const WebhookInput = z
  .strictObject({
    name: Name,
    ...Sender,
    /** Git context that the webhook belongs to. A trigger that names a context accepts only its webhooks. */
    context: Name.optional(),
    /** Accept only events of this repository. */
    repo: RepoName.optional(),
    /** App-proxy that reaches the forge, if the server does not: it sets the commit statuses of builds. Such a webhook is not polled. */
    appProxy: ProxyIntegration.optional(),
    /** Find pushes that no call reported, by comparing branches with the token of the context. Default: true with a context of a forge. */
    polls: z.boolean().optional(),
    /** Shared with the forge, which signs each call with it. Default: a random one. */
    secret: z
      .string()
      .min(16)
      .max(200)
      .regex(/^[\x21-\x7e]+$/, 'must contain only printable ASCII characters')
      .optional(),
  })
  .refine(hasOneSender, ONE_SENDER)
export type WebhookInput = z.input<typeof WebhookInput>
export const Webhook = z.object({
  id: Id,
  name: z.string(),
  ...Sender,
  context: z.string().optional(),
  repo: z.string().optional(),
  appProxy: ProxyIntegration.optional(),
  /** Address to enter at the forge or registry. */
  url: z.string(),
  /** Whether the branches of its repositories are polled. */
  polls: z.boolean().optional(),
  /** Repositories that are polled, and why that fails; not in lists. */
  polled: z.array(z.object({ repo: z.string(), polledAt: Time.optional(), problem: z.string().optional() })).optional(),
  createdAt: Time,
})
export type Webhook = z.infer<typeof Webhook>
/** The only response that contains the secret. */
export const WebhookCreated = Webhook.extend({ secret: z.string() })
export type WebhookCreated = z.infer<typeof WebhookCreated>

/** `/pattern/flags`, or a glob; a leading `!` negates a glob. */
const Filter = z.string().max(1000)

/** The fields of a Git trigger, as documents name them. */
export const GitTrigger = z.object({
  type: z.literal('git').default('git'),
  name: z
    .string()
    .min(1)
    .max(200)
    .regex(/^[^\s#]+$/, 'must not contain white space or #'),
  description: z.string().max(150).optional(),
  /** Repository whose events start builds. It may be another one than the repository that is cloned. */
  repo: RepoName,
  /** Accept only webhooks of this forge. */
  provider: z.string().max(50).optional(),
  /** Accept only webhooks of this Git context. */
  context: Name.optional(),
  /** Shared configuration of its builds, in addition to that of the pipeline. */
  contexts: z.array(Name).max(100).default([]),
  events: z.array(EventName).min(1).max(100),
  branchRegex: Filter.optional(),
  /** `multiselect-exclude` inverts the filter. */
  branchRegexInput: z.enum(['regex', 'multiselect', 'multiselect-exclude']).optional(),
  pullRequestTargetBranchRegex: Filter.optional(),
  commentRegex: Filter.optional(),
  /** Build only if a changed file matches. `{a/**,b/**}` are alternatives; a leading `!` negates all of it. */
  modifiedFilesGlob: z.string().max(65_000).optional(),
  pullRequestAllowForkEvents: z.boolean().default(false),
  skipCommentAuthorAssociationValidation: z.boolean().default(false),
  commitStatusTitle: z.string().min(1).max(200).optional(),
  disabled: z.boolean().default(false),
  /** Maximum number of concurrent builds of this trigger. Default: `triggerConcurrency` of the pipeline. */
  concurrency: z.int().min(1).optional(),
  priority: z.int().min(-100).max(100).optional(),
  /** Replaces that of the pipeline. */
  terminationPolicy: z.array(TerminationPolicy).max(20).optional(),
  /** Override those of the pipeline. Encrypted ones are refused: put secrets into a context and name it in `contexts`. */
  variables: z.array(PipelineVariable).max(500).default([]),
  /** Override those of the pipeline. */
  options: z
    .object({
      noCache: z.boolean(),
      noCfCache: z.boolean(),
      resetVolume: z.boolean(),
      enableNotifications: z.boolean(),
      commitStatus: z.boolean(),
      keepPVCsForPendingApproval: z.boolean(),
      pendingApprovalConcurrencyApplied: z.boolean(),
    } satisfies Record<keyof z.output<typeof PipelineOptions>, z.ZodBoolean>)
    .partial()
    .optional(),
  runtimeEnvironment: z
    .object({ name: Name, cpu: Machine.shape.cpu, memory: Machine.shape.memory, dindStorage: Machine.shape.disk })
    .partial()
    .optional(),
})
export type GitTrigger = z.output<typeof GitTrigger>

/** Creates or replaces a trigger. */
export const TriggerInput = z.strictObject(GitTrigger.shape).extend({
  /** Name or id. */
  pipeline: Name,
})
export type TriggerInput = z.input<typeof TriggerInput>
/** A trigger of a pipeline. Its `name` is unique in the pipeline; `pipeline#name` and `id` identify it. */
export const PipelineTrigger = GitTrigger.extend({
  id: Id,
  pipeline: z.string(),
  /** `document`: the document of the pipeline contains it, and can only be changed there. */
  origin: z.enum(['document', 'api']),
  createdAt: Time,
  updatedAt: Time,
})
export type PipelineTrigger = z.infer<typeof PipelineTrigger>
export const TriggerQuery = PageQuery.extend({
  /** Name or id. */
  pipeline: z.string().max(300).optional(),
})

/** One rule of a trigger, applied to an event. */
export const RuleResult = z.object({
  rule: z.enum([...TRIGGER_RULES, ...EVENT_TRIGGER_RULES]),
  holds: z.boolean(),
  /** What was compared with what. */
  text: z.string(),
  /** What the event has: the branch, the comment, the names of the event. Absent if the rule compares nothing. */
  value: z.string().optional(),
  /** What the trigger wants of it. */
  pattern: z.string().optional(),
  /** Of `modified-files`: changed files, at most 20, each with the part of the filter that it matches. */
  files: z.array(z.object({ file: z.string(), part: z.string().optional() })).optional(),
  /** The rule holds, but the build must be approved before it starts. */
  needsApproval: z.literal(true).optional(),
})
export type RuleResult = z.infer<typeof RuleResult>

/** What a trigger does with an event. It builds if `reason` is absent. */
export const TriggerVerdict = z.object({
  /** Name of the pipeline at the time of the event. */
  pipeline: z.string(),
  /** Absent in verdicts of earlier versions. */
  pipelineId: Id.optional(),
  trigger: z.string(),
  reason: NoBuildReason.optional(),
  message: z.string().optional(),
  /** All rules, also those after the first that does not hold. */
  rules: z.array(RuleResult),
  buildId: Id.optional(),
  /** The build waits for approval before it starts. */
  needsApproval: z.literal(true).optional(),
})
export type TriggerVerdict = z.infer<typeof TriggerVerdict>

export const DELIVERY_STATUSES = ['received', 'processed', 'refused', 'failed'] as const
/** A call of a webhook, or the end of a build, which has no sender. It started the builds of its `triggers`, or `reason` says why it started none. */
export const Delivery = z.object({
  id: Id,
  webhook: z.string().optional(),
  ...Sender,
  /** Name of the event at the forge or registry; `build` for the end of a build. */
  event: z.string().optional(),
  /** Repository, image or chart. */
  repo: z.string().optional(),
  /** Branch, tag or version. */
  branch: z.string().optional(),
  /** Commit, or digest of an image. */
  revision: z.string().optional(),
  status: z.enum(DELIVERY_STATUSES),
  reason: NoBuildReason.optional(),
  message: z.string().optional(),
  /** Ids of the builds that it started. */
  builds: z.array(Id),
  /** How often the forge repeated the call. */
  repeats: z.int(),
  /** Delivery that it repeats at the request of a user. */
  replayOf: Id.optional(),
  /** True if no call reported the event: the server found it by comparing branches. Its body has the form of GitHub. */
  isPolled: z.boolean().optional(),
  receivedAt: Time,
  processedAt: Time.optional(),
  /** Not in lists. */
  triggers: z.array(TriggerVerdict).optional(),
  /** Headers that say what the event is, with lower-case names; not in lists. */
  headers: z.record(z.string(), z.string()).optional(),
  /** Body as it was received, with passwords in URLs and the values of fields such as `token` and `password` masked; not in lists. */
  body: z.string().optional(),
})
export type Delivery = z.infer<typeof Delivery>
export const DeliveryQuery = PageQuery.extend({
  /** Name of a webhook. */
  webhook: z.string().max(300).optional(),
  repo: z.string().max(400).optional(),
  branch: z.string().max(500).optional(),
  status: z.enum(DELIVERY_STATUSES).optional(),
  reason: NoBuildReason.optional(),
  /** True: deliveries that started a build. False: those that started none, for any reason. */
  built: z.stringbool().optional(),
  /** Name or id. Only deliveries that were judged for a trigger of this pipeline. */
  pipeline: z.string().max(300).optional(),
})

/** What the fields of a delivery are called, which depends on its sender. */
export interface DeliveryLabels {
  readonly repo: string
  readonly branch: string
  readonly revision: string
}

/** Returns the names of `repo`, `branch` and `revision` of a delivery. */
export function deliveryLabels({ forge, registry, repo }: Pick<Delivery, 'forge' | 'registry' | 'repo'>): DeliveryLabels {
  if (registry !== undefined) return { repo: 'Artifact', branch: 'Tag', revision: 'Digest' }
  if (forge === undefined && repo !== undefined) return { repo: 'Pipeline', branch: 'Branch', revision: 'Commit' }
  return { repo: 'Repository', branch: 'Branch', revision: 'Commit' }
}

/** Answer to a forge or a registry. */
export const DeliveryReceipt = z.object({ id: Id, isRepeat: z.boolean() })

/** An event to judge without a build. */
export const TriggerTestInput = z
  .strictObject({
    ...Sender,
    /** Name of the event, as the forge sends it in a header. GitLab, Bitbucket Server and Azure DevOps also name it in the body. */
    event: z.string().max(200).optional(),
    /** Body of the webhook call. */
    body: z.string().max(1_048_576),
    /** Name or id of a pipeline. Default: all pipelines. */
    pipeline: z.string().max(300).optional(),
  })
  .refine(hasOneSender, ONE_SENDER)
export type TriggerTestInput = z.input<typeof TriggerTestInput>
export const TriggerTest = z.object({
  events: z.array(z.string()),
  repo: z.string().optional(),
  branch: z.string().optional(),
  revision: z.string().optional(),
  reason: NoBuildReason.optional(),
  message: z.string().optional(),
  triggers: z.array(TriggerVerdict),
})
export type TriggerTest = z.infer<typeof TriggerTest>
