/** Builds in `/v1`, with their approvals and annotations. */
import { z } from 'zod'
import { BUILD_STATUSES, STEP_STATUSES, TRIGGER_KINDS } from '@windlass/plan'
import { Id, Name, Time, Variables } from '../base.ts'
import { ActionProblem, BuildCommit, BuildProgress, Waiting } from './lists.ts'
import { StepLog, StepWhen, WaitTime } from './facts.ts'
import { DebugInput } from '../engine/debug.ts'
import { MissingLog, ReasonName, StepImage, Usage } from '../engine/events.ts'
import { MESSAGE_STATES } from '../system/messages.ts'
import { Machine } from '../system/settings.ts'

export const AnnotationName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must start with a letter or _ and contain only letters, digits and _')
export const AnnotationValue = z.union([z.string().max(65_536), z.number(), z.boolean()])
export type AnnotationValue = z.infer<typeof AnnotationValue>

/** Annotations of an entity. `display` is the name of the annotation that lists show. */
export const Annotations = z.object({
  values: z.record(z.string(), AnnotationValue),
  display: z.string().optional(),
})
export type Annotations = z.infer<typeof Annotations>
/** Body of `PUT /v1/annotations/{entity}/{id}`. Other annotations do not change. */
export const AnnotationsInput = z.object({
  values: z.record(AnnotationName, AnnotationValue).default({}),
  display: AnnotationName.optional(),
})

const Fact = z.string().max(65_536).optional()
/** Data of the commit, pull request or release of a build, besides its branch and revision. Source of the `CF_*` variables. */
export const GitFactsInput = z.object({
  repoOwner: Fact,
  repoName: Fact,
  baseBranch: Fact,
  commitMessage: Fact,
  commitAuthor: Fact,
  commitUrl: Fact,
  pullRequest: z
    .object({
      action: Fact,
      id: Fact,
      number: Fact,
      target: Fact,
      headBranch: Fact,
      headCommit: Fact,
      labels: Fact,
      title: Fact,
      comment: Fact,
      commentAuthor: Fact,
      merged: z.boolean().optional(),
      mergedCommit: Fact,
    })
    .optional(),
  /** True if the branch of the event is the name of a tag. */
  isTag: z.boolean().optional(),
  release: z.object({ name: Fact, tag: Fact, id: Fact, isPrerelease: z.boolean().optional() }).optional(),
})
export type GitFactsInput = z.infer<typeof GitFactsInput>

/** Starts a build of a stored pipeline, or of the given document. */
export const BuildInput = z.object({
  pipeline: Name.optional(),
  /** Overrides the stored document for this build. */
  document: z.string().max(1_048_576).optional(),
  file: z.string().max(1000).optional(),
  branch: z.string().max(500).optional(),
  revision: z.string().max(500).optional(),
  /** Data of a git event, as if the event had started the build. */
  git: GitFactsInput.optional(),
  variables: Variables.default({}),
  /** Encrypted at rest, masked in logs. */
  secrets: Variables.default({}),
  contexts: z.array(Name).max(100).default([]),
  runtime: Name.optional(),
  noCache: z.boolean().default(false),
  resetVolume: z.boolean().default(false),
  noCfCache: z.boolean().default(false),
  /** Send commit statuses and notifications as for a triggered build. Stored for the integrations that send them. */
  enableNotifications: z.boolean().default(false),
  /** Run only these steps. */
  only: z.array(z.string().max(150)).max(1000).optional(),
  /** Do not run these steps. */
  skip: z.array(z.string().max(150)).max(1000).optional(),
  /** Initial annotations of the build. `cf_predecessor` is the id of the build that started it and can be set only here. */
  annotations: z.record(AnnotationName, AnnotationValue).optional(),
  /** Trigger of the pipeline to simulate. */
  trigger: Name.optional(),
  machine: Machine.optional(),
  /** Makes this a debug run, with the breakpoints of the document and these. */
  debug: DebugInput.optional(),
  /** Build to repeat, with its document, variables and commit. */
  restartOf: Id.optional(),
  /** With `restartOf`: keep the results of earlier steps and start at the failed steps (`failed`) or at this step. */
  restartFrom: z.string().max(150).optional(),
})
export type BuildInput = z.input<typeof BuildInput>

export const Trigger = z.object({
  kind: z.enum(TRIGGER_KINDS),
  /** Name of the trigger of the pipeline that started the build, or that the build simulates. */
  name: z.string().optional(),
})

export const BuildStep = z.object({
  name: z.string(),
  title: z.string(),
  /** Group that contains the step, or the step whose hook it is. */
  parent: z.string().optional(),
  type: z.string(),
  stage: z.string().optional(),
  status: z.enum(STEP_STATUSES),
  reason: ReasonName.optional(),
  message: z.string().optional(),
  hint: z.string().optional(),
  exitCode: z.int().optional(),
  /** Peaks over the containers of a step that ran for at least one second. */
  usage: Usage.optional(),
  /** The image that it runs. `digest` is known once it has ended. */
  image: StepImage.optional(),
  /** Absent without a condition, and for some steps of very large plans. */
  when: StepWhen.optional(),
  /** Its log by attempt. Absent without output, and after the log has expired. */
  logs: z.array(StepLog).optional(),
  try: z.int(),
  /** True if the result was copied from the build that this one restarts. */
  carried: z.boolean().optional(),
  startedAt: Time.optional(),
  finishedAt: Time.optional(),
})
export type BuildStep = z.infer<typeof BuildStep>

/**
 * What follows the loss of an attempt. `retried`: the build runs again. The others end it: `permanent` (another attempt would not help), `exhausted`
 * (the retries of the runtime are used up), `poison` (the build lost its engine too often in a row), `terminating` (the build was ending already).
 */
export const RETRY_DECISIONS = ['retried', 'permanent', 'exhausted', 'poison', 'terminating'] as const
export const RetryDecision = z.enum(RETRY_DECISIONS)
export type RetryDecision = z.infer<typeof RetryDecision>

export const Attempt = z.object({
  number: z.int(),
  status: z.enum(['created', 'starting', 'running', 'suspect', 'ended']),
  /** How the attempt ended. A lost attempt has an infra reason. */
  result: z.string().optional(),
  reason: ReasonName.optional(),
  message: z.string().optional(),
  /** Warm pair that the attempt runs in. Its pods and disk carry this id instead of the id of the build. */
  pairId: Id.optional(),
  createdAt: Time,
  startedAt: Time.optional(),
  endedAt: Time.optional(),
  /** With a lost attempt: whether the build runs again, and why not. Absent for attempts that older servers lost. */
  retryDecision: RetryDecision.optional(),
  /** With a lost attempt: log that the engine wrote but could not send. */
  missingLog: z.array(MissingLog).optional(),
})
export type Attempt = z.infer<typeof Attempt>

/** Body of `POST /v1/builds/{id}/restart`: differences from the original build. */
export const RestartInput = z.object({
  /** `failed` starts at the failed steps and keeps the results of the others; a step name starts at that step. Default: from the beginning. */
  from: z.string().min(1).max(150).optional(),
  variables: Variables.optional(),
  secrets: Variables.optional(),
  debug: DebugInput.optional(),
})
export type RestartInput = z.input<typeof RestartInput>

/** An approval request of a step or of a whole build, and its decision. */
export const Approval = z.object({
  /** Empty for the approval of a build before its start. */
  step: z.string(),
  waitingSince: Time,
  /** At this time the `finalState` of the step becomes the decision. */
  expiresAt: Time,
  decision: z.enum(['approved', 'denied', 'terminated']).optional(),
  by: z.object({ name: z.string(), type: z.string() }).optional(),
  comment: z.string().optional(),
  decidedAt: Time.optional(),
})
export type Approval = z.infer<typeof Approval>

/** Body of `POST /v1/builds/{id}/approve` and `/deny`. `step` is optional if only one step is waiting. */
export const ApprovalInput = z.object({ step: z.string().max(150).optional(), comment: z.string().max(2000).optional() })
export type ApprovalInput = z.infer<typeof ApprovalInput>

/** States of commits at forges. `failure`: the build failed; `error`: it was terminated. */
export const COMMIT_STATES = ['pending', 'success', 'failure', 'error'] as const
export type CommitState = (typeof COMMIT_STATES)[number]

/** A build. Lists contain no steps and attempts; `GET /v1/builds/{id}` contains both. */
export const Build = z.object({
  id: Id,
  number: z.int(),
  pipeline: z.string().optional(),
  pipelineId: Id.optional(),
  /** Version of the pipeline whose settings it uses, and whose document unless it was started with another one. Absent for builds of earlier versions. */
  pipelineVersion: z.int().optional(),
  /** Name of the file of its document. Only without a pipeline, and if the request named one. */
  file: z.string().optional(),
  project: z.string().optional(),
  status: z.enum(BUILD_STATUSES),
  /** Cause of the final state, or why the build is waiting. */
  reason: ReasonName.optional(),
  message: z.string().optional(),
  hint: z.string().optional(),
  branch: z.string().optional(),
  revision: z.string().optional(),
  /** As far as the request of the build named it. */
  commit: BuildCommit.optional(),
  runtime: z.string().optional(),
  initiator: z.string(),
  trigger: Trigger,
  restartOf: Id.optional(),
  /** Build that started this one. */
  parent: Id.optional(),
  /** Annotation that lists show. */
  display: z.object({ name: z.string(), value: AnnotationValue }).optional(),
  /** All annotations; not in lists. */
  annotations: z.record(z.string(), AnnotationValue).optional(),
  attempt: z.int(),
  retries: z.int(),
  createdAt: Time,
  startedAt: Time.optional(),
  finishedAt: Time.optional(),
  /** Absent while the document is fetched, and in lists for very large plans. */
  progress: BuildProgress.optional(),
  /** While the build waits for its start, for its pods or for an approval, and while the debugger holds one of its steps. */
  waiting: Waiting.optional(),
  /** Of a build that runs, in lists: the median time of the last 20 successful builds of its pipeline. Absent with fewer than five. Milliseconds. */
  usualMs: z.number().optional(),
  /** The step to blame for a failure: not the group around it, and no clean-up hook. Absent in lists for very large plans. */
  blame: z.string().optional(),
  /** Why that step failed, such as `exit code 1`. */
  why: z.string().optional(),
  /** What it waited for, longest first. Not in lists. */
  waits: z.array(WaitTime).optional(),
  /** Data of its commit, pull request or release, as its request named them. Not in lists. */
  git: GitFactsInput.optional(),
  problems: z
    .array(
      z.object({
        line: z.int().optional(),
        column: z.int().optional(),
        severity: z.string(),
        code: z.string(),
        message: z.string(),
        hint: z.string().optional(),
      }),
    )
    .optional(),
  steps: z.array(BuildStep).optional(),
  attempts: z.array(Attempt).optional(),
  approvals: z.array(Approval).optional(),
  /** What the forge shows at the commit. Not in lists; absent if the build is not reported, or a later one that repeats it is. */
  commitStatus: z
    .object({
      state: z.enum(COMMIT_STATES),
      /** Whether the forge has it. */
      message: z.enum(MESSAGE_STATES),
      /** Why the last call of the forge failed. */
      problem: z.string().optional(),
    })
    .optional(),
})
export type Build = z.infer<typeof Build>

/** Answer of `POST /v1/builds/actions`: a result for each id, in their order. `build` is the new one after a restart. */
export const BuildActionResults = z.object({
  items: z.array(z.object({ id: Id, build: Build.optional(), problem: ActionProblem.optional() })),
})
export type BuildActionResults = z.infer<typeof BuildActionResults>
