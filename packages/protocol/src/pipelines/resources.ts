/** Resources of `/v1`. A name that ends in `Input` is a request body; a plain noun is a response. */
import { z } from 'zod'
import { Id, Name, OwnName, PageQuery, ProblemDocument, Time, Variables } from '../base.ts'
import { BuildRef } from '../builds/lists.ts'
import { PipelineVariable } from './pipeline-variable.ts'
import { PipelineSettings } from '../system/settings.ts'
import { Role, RoleInput } from '../access/roles.ts'
import { Scope } from '../access/scopes.ts'

export const ApiKeyInput = z.object({
  name: Name,
  /** The key has at most this role, and at most the roles of its owner. */
  role: RoleInput.default('developer'),
  /** Limits the key to these scopes. Absent or empty: everything that the role allows. */
  scopes: z.array(Scope).max(100).optional(),
  /** Name of the user or service account that the key acts for. Default: the caller. Another owner requires the right `manage-users`. */
  owner: z.string().max(100).optional(),
  /** The key is refused from then on. Absent: it does not expire. */
  expiresAt: Time.optional(),
})
/** The user or service account of a key or session. */
export const Owner = z.object({ id: Id, name: z.string(), kind: z.enum(['user', 'service-account']) })
export type Owner = z.infer<typeof Owner>
export const ApiKey = z.object({
  id: Id,
  name: z.string(),
  role: Role,
  scopes: z.array(Scope).optional(),
  prefix: z.string(),
  /** Absent for keys of earlier versions, which have no owner. */
  owner: Owner.optional(),
  /** Name of the user or key that created it. Absent for keys of earlier versions. */
  createdBy: z.string().optional(),
  createdAt: Time,
  expiresAt: Time.optional(),
  /** Time of a recent use, at most a minute before the latest one. Absent if it was never used. Only in lists. */
  usedAt: Time.optional(),
})
export const ApiKeyCreated = ApiKey.extend({ token: z.string() })
export type ApiKey = z.infer<typeof ApiKey>

export const ProjectInput = z.object({ name: OwnName, variables: Variables.default({}) })

const MAX_DAYS = 36_500

/** Limits of a project that an admin sets. An omitted one is not set: only the settings of the account and of the server apply. */
export const ProjectQuotas = z.object({
  /** Maximum number of concurrent builds of its pipelines, in addition to other limits. */
  concurrency: z.int().min(0).max(1_000_000).optional(),
  /** How long builds are kept after their end, instead of the setting of the server. Days. */
  buildDays: z.int().positive().max(MAX_DAYS).optional(),
  /** How long logs are kept after the end of the build, instead of the setting of the server. Days. */
  logDays: z.int().positive().max(MAX_DAYS).optional(),
  /** Maximum number of ended builds. The oldest are deleted. */
  maxBuilds: z.int().positive().max(1_000_000_000).optional(),
  /** Maximum size of the logs of ended builds, as received. The oldest are deleted. Bytes. */
  maxLogBytes: z.int().positive().optional(),
})
export type ProjectQuotas = z.output<typeof ProjectQuotas>
/** Body of PUT. Omitted quotas are removed. Unknown keys are rejected. */
export const ProjectQuotasInput = z.strictObject(ProjectQuotas.shape)

export const Project = z.object({
  id: Id,
  name: z.string(),
  variables: Variables,
  pipelines: z.int(),
  /** Earlier versions omit them. */
  quotas: ProjectQuotas.optional(),
  createdAt: Time,
  updatedAt: Time,
})
export type Project = z.infer<typeof Project>

/** `document` is the YAML text: an inline document, or a `kind: pipeline` document whose settings override the fields here. */
export const PipelineInput = z.object({
  /** `project/name`, or a name without project. */
  name: OwnName,
  document: z.string().max(1_048_576),
  variables: z.array(PipelineVariable).max(500).default([]),
  contexts: z.array(Name).max(100).default([]),
  runtime: Name.optional(),
  /** Maximum number of concurrent builds. 0 freezes the pipeline. */
  concurrency: z.int().min(0).optional(),
  /** Maximum number of concurrent builds per branch. */
  branchConcurrency: z.int().min(0).optional(),
  /** Maximum number of concurrent builds per trigger. */
  triggerConcurrency: z.int().min(0).optional(),
  priority: z.int().min(-100).max(100).default(0),
  settings: PipelineSettings.prefault({}),
})
export type PipelineInput = z.infer<typeof PipelineInput>

/** Number of builds in the activity of a pipeline. */
export const SHOWN_BUILDS = 20

/** What a list shows of a pipeline beyond its settings. */
export const PipelineActivity = z.object({
  /** The newest builds, newest first. `durationMs` is the time without approvals, absent until the build has ended. */
  builds: z.array(
    BuildRef.pick({ id: true, number: true, branch: true, status: true, startedAt: true }).extend({
      durationMs: z.int().optional(),
    }),
  ),
  /** Number of triggers of all kinds. */
  triggers: z.int(),
})
export type PipelineActivity = z.infer<typeof PipelineActivity>

export const Pipeline = PipelineInput.extend({
  /** Earlier versions accepted more names. */
  name: Name,
  id: Id,
  project: z.string().optional(),
  revision: z.int(),
  createdAt: Time,
  updatedAt: Time,
  /** In lists with `activity=true`. */
  activity: PipelineActivity.optional(),
  /** Errors and warnings of the document, in responses to writes. */
  problems: ProblemDocument.shape.problems,
})
export type Pipeline = z.infer<typeof Pipeline>

const PIPELINE_ORDERS = ['name', 'last-build'] as const

/** Query of `GET /v1/pipelines`. */
export const PipelineQuery = PageQuery.extend({
  cursor: z.string().max(300).optional(),
  /** Part of the name. Case does not matter. */
  q: z.string().trim().max(200).optional(),
  /** Name or id. */
  project: z.string().max(200).optional(),
  /** `last-build`: the pipeline with the newest build first. Those without builds come last, by name. */
  order: z.enum(PIPELINE_ORDERS).default('name'),
  /** Adds the newest builds of each pipeline and the number of its triggers. */
  activity: z.stringbool().default(false),
})

/** Body of `POST /v1/validate`: a document that is not stored. */
export const ValidationInput = z.object({
  document: z.string().max(1_048_576),
  file: z.string().max(1000).default('pipeline.yaml'),
})
export const Validation = z.object({ valid: z.boolean(), problems: ProblemDocument.shape.problems.unwrap() })

export const CONTEXT_TYPES = ['config', 'secret', 'yaml', 'secret-yaml', 'git', 'registry', 'kubernetes', 'secret-store'] as const
/**
 * Shared configuration or an integration. `data` depends on the type:
 *
 * - `config`, `secret`: variables.
 * - `yaml`, `secret-yaml`: any YAML mapping. Its keys become variables; values that are not scalars become JSON.
 * - `secret-store`: url, mount (`secret`), path, namespace and token of a store with the HTTP API of the Vault KV engine, version 2; or
 *   resourceName, resourceType (`secret`, `configmap`) and runtime (`*`) of an object in the cluster that builds run in.
 * - `git`: url, username, password, sshPrivateKey, sshKnownHosts.
 * - `registry`: domain, username, password, repositoryPrefix, primary (`true`).
 * - `kubernetes`: kubeconfig with embedded certificates.
 *
 * Responses show secret fields as `*****`.
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
export const Context = ContextInput.extend({
  id: Id,
  /** Who wrote it last. Absent for contexts that an earlier version wrote last. */
  changedBy: z.string().optional(),
  /** What names the context. Only in the answer for a single context. */
  usedBy: z
    .object({
      /** Number of pipelines and triggers, of which the lists have at most 100 each. */
      total: z.int(),
      /** Pipelines that name it in their settings or document. */
      pipelines: z.array(z.string()).max(100),
      /** Triggers outside of documents, as `PIPELINE#NAME`. */
      triggers: z.array(z.string()).max(100),
    })
    .optional(),
  createdAt: Time,
  updatedAt: Time,
  /** When the access token of a Git context with an OAuth app expires. The server renews it earlier. */
  expiresAt: Time.optional(),
  /** Why the server cannot renew the access token. */
  problem: z.string().optional(),
})
export type Context = z.infer<typeof Context>

export const AgentInput = z.object({
  name: Name,
  runtimes: z.array(Name).max(500).default([]),
  /**
   * Token of a deleted agent, which is restored with the same id and token. If an agent with this token exists, the response is that agent.
   */
  token: z.string().max(200).optional(),
})
export const Agent = z.object({
  id: Id,
  name: z.string(),
  accountId: Id,
  runtimes: z.array(z.string()),
  status: z.enum(['never-seen', 'online', 'offline']),
  /** `healthy` if the agent called within the last minute; absent if it has never called. */
  health: z.enum(['healthy', 'unhealthy']).optional(),
  /** Last status message of the agent. */
  message: z.string().optional(),
  /** Last used version of the agent protocol: 1 is protocol v1 (public agents), 2 is protocol v2. */
  protocol: z.int().optional(),
  executor: z.string().optional(),
  version: z.string().optional(),
  /** Base URL at which its engines reach the server, unless the runtime environment sets another one. Absent if unknown. */
  serverUrl: z.string().optional(),
  lastSeenAt: Time.optional(),
  createdAt: Time,
  /** Number of tasks that the agent has taken and not reported yet. In answers of `GET /v1/agents/{name}`. */
  tasks: z.int().optional(),
})
export type Agent = z.infer<typeof Agent>
/** The only response that contains the token. */
export const AgentCreated = Agent.extend({ token: z.string() })

/** One version of a step type. The manifest contains `name` and `version`. */
export const StepTypeInput = z.object({ manifest: z.string().max(1_048_576) })
export type StepTypeInput = z.infer<typeof StepTypeInput>
export const StepTypeResource = z.object({
  /** `name` or `account/name`. */
  name: z.string(),
  version: z.string(),
  description: z.string(),
  /** True for a step type of the server. A step type of the account with the same name and version overrides it. */
  builtIn: z.boolean(),
  /** Number of versions. */
  versions: z.int(),
  createdAt: Time,
  updatedAt: Time,
  /** Not in lists. */
  manifest: z.string().optional(),
})
export type StepTypeResource = z.infer<typeof StepTypeResource>

/** Query of `GET /v1/builds/{id}/log`: a byte range of one stream, or all streams in feed order, as text/plain. */
export const LogQuery = z.object({
  stream: z.string().max(160).optional(),
  attempt: z.coerce.number().int().positive().optional(),
  offset: z.coerce.number().int().nonnegative().optional(),
  limit: z.coerce.number().int().positive().optional(),
  /** Only the last N lines. */
  tail: z.coerce.number().int().positive().max(100_000).optional(),
  /** Answers with a file name: `raw` as it was written, `text` without escape sequences and overwritten text. */
  download: z.enum(['raw', 'text']).optional(),
  /** With `download`: compresses the file. */
  gzip: z.stringbool().default(false),
})

export const ServerStatus = z.object({
  version: z.string(),
  protocol: z.int(),
  features: z.array(z.string()),
  bootstrapped: z.boolean(),
  /** Configured base URL of the server. Absent if it uses its listen address. */
  advertisedUrl: z.string().optional(),
  /** The OpenID Connect provider through which users sign in. Absent without one. */
  oidc: z.object({ name: z.string() }).optional(),
})
/** The owner of a credential. */
export const Whoami = z.object({
  kind: z.string(),
  id: z.string(),
  name: z.string(),
  role: z.string().optional(),
  /** Name of the project -> role in it. */
  projects: z.record(z.string(), z.string()).optional(),
  /** Name of the pipeline -> role for it. */
  pipelines: z.record(z.string(), z.string()).optional(),
  /** Absent for everything that the role allows. */
  scopes: z.array(z.string()).optional(),
  /** The user or service account that the credential acts for. */
  owner: Owner.optional(),
  expiresAt: Time.optional(),
})
export type Whoami = z.infer<typeof Whoami>
export const Bootstrap = z.object({
  name: Name.default('admin'),
  /** Bootstrap code, from `bootstrap.code` in the data folder, the server log, or the settings. */
  code: z.string().max(1000).optional(),
})
