/** Resources of `/v1`, as clients see them. An input shape is what a POST takes; a plain noun is what a GET answers. */
import { z } from 'zod'
import { Id, Name, ProblemDocument, Time, Variables } from './base.ts'
import { PipelineSettings } from './settings.ts'
import { Scope } from './scopes.ts'

const VariableName = z.string().min(1).max(200)

export const ApiKeyInput = z.object({
  name: Name,
  role: z.enum(['admin', 'user', 'viewer']).default('user'),
  /** All that the role allows when absent or empty. */
  scopes: z.array(Scope).max(100).optional(),
})
export const ApiKey = z.object({
  id: Id,
  name: z.string(),
  role: z.enum(['admin', 'user', 'viewer']),
  scopes: z.array(Scope).optional(),
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
 * a store that speaks the HTTP API of Vault's KV engine, version 2; or resourceName, resourceType (`secret`, `configmap`) and runtime (`*`) of one
 * that is an object of the cluster that builds run in. Of `git`: url, username, password, sshPrivateKey,
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

export const AgentInput = z.object({
  name: Name,
  runtimes: z.array(Name).max(500).default([]),
  /** Of an agent that was deleted: it comes back as the same agent, with the same token. Answers the agent that is there when it has this token. */
  token: z.string().max(200).optional(),
})
export const Agent = z.object({
  id: Id,
  name: z.string(),
  accountId: Id,
  runtimes: z.array(z.string()),
  status: z.enum(['never-seen', 'online', 'offline']),
  /** `healthy` while it was heard of within the last minute; absent before it was heard of at all. */
  health: z.enum(['healthy', 'unhealthy']).optional(),
  /** What it said of itself last. */
  message: z.string().optional(),
  /** Of the agent protocol that it spoke last: 1 polls for single objects (public agents), 2 is this project's own. */
  protocol: z.int().optional(),
  executor: z.string().optional(),
  version: z.string().optional(),
  lastSeenAt: Time.optional(),
  createdAt: Time,
})
export type Agent = z.infer<typeof Agent>
/** The token is answered once. */
export const AgentCreated = Agent.extend({ token: z.string() })

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
