/** Resources of `/v1`, as clients see them. An input shape is what a POST takes; a plain noun is what a GET answers. */
import { z } from 'zod'
import { BUILD_STATUSES, STEP_STATUSES } from '@windlass/plan'
import { Id, Name, ProblemDocument, Time } from './base.ts'
import { DebugInput } from './debug.ts'
import { ReasonName, Usage } from './events.ts'
import { Machine, PipelineSettings } from './settings.ts'
import { RuntimeInput, RuntimeSpec } from './runtime.ts'

const Variables = z.record(z.string().min(1).max(200), z.string().max(1_048_576))
const VariableName = z.string().min(1).max(200)

export const ApiKeyInput = z.object({ name: Name, role: z.enum(['admin', 'user', 'viewer']).default('user') })
export const ApiKey = z.object({
  id: Id,
  name: z.string(),
  role: z.enum(['admin', 'user', 'viewer']),
  prefix: z.string(),
  createdAt: Time,
})
export const ApiKeyCreated = ApiKey.extend({ token: z.string() })
export type ApiKey = z.infer<typeof ApiKey>

export const ProjectInput = z.object({ name: Name, variables: Variables.default({}) })
export const Project = z.object({
  id: Id,
  name: z.string(),
  variables: Variables,
  pipelines: z.int(),
  createdAt: Time,
  updatedAt: Time,
})
export type Project = z.infer<typeof Project>

export const PipelineVariable = z.object({ key: VariableName, value: z.string(), encrypted: z.boolean().default(false) })

/** `document` is the YAML as written: an inline document, or a `kind: pipeline` document whose settings win over the fields here. */
export const PipelineInput = z.object({
  /** `project/name`, or a bare name. */
  name: Name,
  document: z.string().max(1_048_576),
  variables: z.array(PipelineVariable).max(500).default([]),
  contexts: z.array(Name).max(100).default([]),
  runtime: Name.optional(),
  /** Most builds at once: of the pipeline, and of each of its branches. 0 freezes the pipeline. */
  concurrency: z.int().min(0).optional(),
  branchConcurrency: z.int().min(0).optional(),
  /** Most builds at once of each of its triggers. */
  triggerConcurrency: z.int().min(0).optional(),
  priority: z.int().min(-100).max(100).default(0),
  settings: PipelineSettings.prefault({}),
})
export type PipelineInput = z.infer<typeof PipelineInput>
export const Pipeline = PipelineInput.extend({
  id: Id,
  project: z.string().optional(),
  revision: z.int(),
  createdAt: Time,
  updatedAt: Time,
  /** What is wrong with the document, in answers to writing it. */
  problems: ProblemDocument.shape.problems,
})
export type Pipeline = z.infer<typeof Pipeline>

export const CONTEXT_TYPES = ['config', 'secret', 'yaml', 'secret-yaml', 'git', 'registry', 'kubernetes', 'secret-store'] as const
/**
 * Shared configuration or an integration. Data of `config` and `secret`: variables. Of `yaml` and `secret-yaml`: any YAML mapping; where it
 * is used, its keys are variables, values that are not plain as JSON. Of `secret-store`: url, mount (`secret`), path, namespace and token of
 * a store that speaks the HTTP API of Vault's KV engine, version 2. Of `git`: url, username, password, sshPrivateKey,
 * sshKnownHosts. Of `registry`: domain, username, password, repositoryPrefix, primary (`true`). Of `kubernetes`: kubeconfig, with its
 * certificates inside. Secret fields are answered as `*****`.
 */
export const ContextInput = z.object({
  name: Name,
  type: z.enum(CONTEXT_TYPES),
  isDefault: z.boolean().default(false),
  data: z.record(
    z.string().max(200),
    z.union([
      z.string().max(1_048_576),
      z.number(),
      z.boolean(),
      z.null(),
      z.array(z.unknown()),
      z.record(z.string(), z.unknown()),
    ]),
  ),
})
export type ContextInput = z.infer<typeof ContextInput>
export const Context = ContextInput.extend({ id: Id, createdAt: Time, updatedAt: Time })
export type Context = z.infer<typeof Context>

export const Runtime = z.object({
  ...RuntimeInput.shape,
  spec: RuntimeSpec,
  id: Id,
  createdAt: Time,
  updatedAt: Time,
  agentOnline: z.boolean(),
  running: z.int(),
  waiting: z.int(),
})
export type Runtime = z.infer<typeof Runtime>

export const AgentInput = z.object({ name: Name, runtimes: z.array(Name).max(500).default([]) })
export const Agent = z.object({
  id: Id,
  name: z.string(),
  runtimes: z.array(z.string()),
  status: z.enum(['never-seen', 'online', 'offline']),
  executor: z.string().optional(),
  version: z.string().optional(),
  lastSeenAt: Time.optional(),
  createdAt: Time,
})
export type Agent = z.infer<typeof Agent>
/** The token is answered once. */
export const AgentCreated = Agent.extend({ token: z.string() })

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

/** A step type is written once per version as its manifest; `name` and `version` stand in it. */
export const StepTypeInput = z.object({ manifest: z.string().max(1_048_576) })
export type StepTypeInput = z.infer<typeof StepTypeInput>
export const StepType = z.object({
  /** `name` or `account/name`. */
  name: z.string(),
  version: z.string(),
  description: z.string(),
  /** Comes with the server; one of the account with the same name and version takes its place. */
  builtIn: z.boolean(),
  /** How many versions there are. */
  versions: z.int(),
  createdAt: Time,
  updatedAt: Time,
  /** Left out of lists. */
  manifest: z.string().optional(),
})
export type StepType = z.infer<typeof StepType>

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

/** Query of `GET /v1/builds/{id}/log`: the bytes of one stream (text/plain), by byte range, or all streams in feed order. */
export const LogQuery = z.object({
  stream: z.string().max(160).optional(),
  attempt: z.coerce.number().int().positive().optional(),
  offset: z.coerce.number().int().nonnegative().optional(),
  limit: z.coerce.number().int().positive().optional(),
  /** Only the last N lines. */
  tail: z.coerce.number().int().positive().max(100_000).optional(),
})

export const ServerStatus = z.object({
  version: z.string(),
  protocol: z.int(),
  features: z.array(z.string()),
  bootstrapped: z.boolean(),
})
export const Bootstrap = z.object({ name: Name.default('admin') })
