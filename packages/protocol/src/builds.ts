/** Builds as clients of `/v1` ask for them and see them, and what people say about them. */
import { z } from 'zod'
import { BUILD_STATUSES, STEP_STATUSES } from '@windlass/plan'
import { Id, Name, Time, Variables } from './base.ts'
import { DebugInput } from './debug.ts'
import { ReasonName, Usage } from './events.ts'
import { Machine } from './settings.ts'

export const AnnotationName = z
  .string()
  .max(200)
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, 'must be letters, digits and _')
export const AnnotationValue = z.union([z.string().max(65_536), z.number(), z.boolean()])
export type AnnotationValue = z.infer<typeof AnnotationValue>

/** The annotations of one thing. `display` names the one that lists show. */
export const Annotations = z.object({
  values: z.record(z.string(), AnnotationValue),
  display: z.string().optional(),
})
export type Annotations = z.infer<typeof Annotations>
/** Body of `PUT /v1/annotations/{entity}/{id}`: sets these, leaves the others. */
export const AnnotationsInput = z.object({
  values: z.record(AnnotationName, AnnotationValue).default({}),
  display: AnnotationName.optional(),
})

const Fact = z.string().max(65_536).optional()
/** What is known of the commit, pull request or release that a build is about, beside its branch and revision: the `CF_*` variables. */
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
  release: z.object({ name: Fact, tag: Fact, id: Fact, isPrerelease: z.boolean().optional() }).optional(),
})
export type GitFactsInput = z.infer<typeof GitFactsInput>

/** How to start a build: of a stored pipeline, or of a document given with it. */
export const BuildInput = z.object({
  pipeline: Name.optional(),
  /** Overrides the stored document for this build. */
  document: z.string().max(1_048_576).optional(),
  file: z.string().max(1000).optional(),
  branch: z.string().max(500).optional(),
  revision: z.string().max(500).optional(),
  /** As an event would tell it: the run pretends to be started by it. */
  git: GitFactsInput.optional(),
  variables: Variables.default({}),
  /** Encrypted at rest, masked in logs. */
  secrets: Variables.default({}),
  contexts: z.array(Name).max(100).default([]),
  runtime: Name.optional(),
  noCache: z.boolean().default(false),
  resetVolume: z.boolean().default(false),
  noCfCache: z.boolean().default(false),
  /** Commit statuses and notifications although a person started it; kept for those who send them. */
  enableNotifications: z.boolean().default(false),
  /** Run these steps alone; leave these out. */
  only: z.array(z.string().max(150)).max(1000).optional(),
  skip: z.array(z.string().max(150)).max(1000).optional(),
  /** Annotations of the build from its first moment; `cf_predecessor` names the build that started it. */
  annotations: z.record(AnnotationName, AnnotationValue).optional(),
  /** The trigger of the pipeline that it pretends to be started by. */
  trigger: Name.optional(),
  machine: Machine.optional(),
  /** A debug run: breakpoints of the document count, and these. */
  debug: DebugInput.optional(),
  /** A build to repeat: its document, variables and commit. */
  restartOf: Id.optional(),
  /** With `restartOf`: keep what earlier steps gave, and begin at the failed ones (`failed`) or at this step and what follows it. */
  restartFrom: z.string().max(150).optional(),
})
export type BuildInput = z.input<typeof BuildInput>

export const BuildStep = z.object({
  name: z.string(),
  title: z.string(),
  /** The group that holds it, or the step whose hook it is. */
  parent: z.string().optional(),
  type: z.string(),
  stage: z.string().optional(),
  status: z.enum(STEP_STATUSES),
  reason: ReasonName.optional(),
  message: z.string().optional(),
  hint: z.string().optional(),
  exitCode: z.int().optional(),
  /** Peaks over the containers of a step that ran for a second and longer. */
  usage: Usage.optional(),
  try: z.int(),
  /** True when the result was taken over from the build that this one repeats. */
  carried: z.boolean().optional(),
  startedAt: Time.optional(),
  finishedAt: Time.optional(),
})
export type BuildStep = z.infer<typeof BuildStep>

export const Attempt = z.object({
  number: z.int(),
  status: z.enum(['created', 'starting', 'running', 'suspect', 'ended']),
  /** How it ended; a lost one has an infra reason. */
  result: z.string().optional(),
  reason: ReasonName.optional(),
  message: z.string().optional(),
  /** The warm pair that it runs in: its pods and its disk carry this id in place of the build's. */
  pairId: Id.optional(),
  createdAt: Time,
  startedAt: Time.optional(),
  endedAt: Time.optional(),
})
export type Attempt = z.infer<typeof Attempt>

/** Body of `POST /v1/builds/{id}/restart`: what of the first build is asked for otherwise. */
export const RestartInput = z.object({
  /** `failed`: from the steps that failed, keeping what the others gave; or the name of the step to begin at. From the beginning when absent. */
  from: z.string().min(1).max(150).optional(),
  variables: Variables.optional(),
  secrets: Variables.optional(),
  debug: DebugInput.optional(),
})
export type RestartInput = z.input<typeof RestartInput>

/** What a step asked of people, and what was decided. */
export const Approval = z.object({
  step: z.string(),
  waitingSince: Time,
  /** Then the step's `finalState` is taken as the decision. */
  expiresAt: Time,
  decision: z.enum(['approved', 'denied', 'terminated']).optional(),
  by: z.object({ name: z.string(), type: z.string() }).optional(),
  comment: z.string().optional(),
  decidedAt: Time.optional(),
})
export type Approval = z.infer<typeof Approval>

/** Body of `POST /v1/builds/{id}/approve` and `/deny`. `step` may be left out while one step alone waits. */
export const ApprovalInput = z.object({ step: z.string().max(150).optional(), comment: z.string().max(2000).optional() })
export type ApprovalInput = z.infer<typeof ApprovalInput>

/** The list form has no steps and no attempts; `GET /v1/builds/{id}` has both. */
export const Build = z.object({
  id: Id,
  number: z.int(),
  pipeline: z.string().optional(),
  pipelineId: Id.optional(),
  project: z.string().optional(),
  status: z.enum(BUILD_STATUSES),
  /** Cause of the final state, or why it waits. */
  reason: ReasonName.optional(),
  message: z.string().optional(),
  hint: z.string().optional(),
  branch: z.string().optional(),
  revision: z.string().optional(),
  runtime: z.string().optional(),
  initiator: z.string(),
  trigger: z.string(),
  /** Name of the trigger of the pipeline that started it, or that it pretends to be started by. */
  triggerName: z.string().optional(),
  restartOf: Id.optional(),
  /** The annotation that lists show. */
  display: z.object({ name: z.string(), value: AnnotationValue }).optional(),
  /** All of them; not in lists. */
  annotations: z.record(z.string(), AnnotationValue).optional(),
  attempt: z.int(),
  retries: z.int(),
  createdAt: Time,
  startedAt: Time.optional(),
  finishedAt: Time.optional(),
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
})
export type Build = z.infer<typeof Build>
