/**
 * The job as the coordinator sends it: the body of a 201 response of `POST jobs/request`. Unknown fields are ignored, and absent lists are empty,
 * because the coordinator leaves out what a job does not have. The names are those of the runner API of GitLab.
 */
import { z } from 'zod'

const text = z
  .string()
  .nullish()
  .transform((value) => value ?? '')
const count = z
  .number()
  .nullish()
  .transform((value) => value ?? 0)
const list = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .nullish()
    .transform((value) => value ?? [])

export const JobVariable = z.object({
  key: z.string(),
  value: text,
  public: z.boolean().nullish(),
  file: z.boolean().nullish(),
  masked: z.boolean().nullish(),
  /** True if references in the value are not expanded. */
  raw: z.boolean().nullish(),
})
export type JobVariable = z.infer<typeof JobVariable>

export const JobStep = z.object({
  name: z.string(),
  script: list(z.string()),
  /** Seconds. */
  timeout: count,
  when: z.enum(['on_success', 'on_failure', 'always']).catch('on_success'),
  allow_failure: z.boolean().nullish(),
})
export type JobStep = z.infer<typeof JobStep>

export const JobImage = z.object({
  name: text,
  alias: text,
  command: list(z.string()),
  entrypoint: list(z.string()),
  ports: list(z.object({ number: z.int(), protocol: text, name: text })),
  variables: list(JobVariable),
  pull_policy: list(z.string()),
  executor_opts: z
    .looseObject({ kubernetes: z.looseObject({ user: z.union([z.string(), z.number()]).nullish() }).nullish() })
    .nullish(),
})
export type JobImage = z.infer<typeof JobImage>

export const JobArtifact = z.object({
  name: text,
  untracked: z.boolean().nullish(),
  paths: list(z.string()),
  exclude: list(z.string()),
  when: z.enum(['on_success', 'on_failure', 'always', '']).catch(''),
  artifact_type: text,
  artifact_format: text,
  expire_in: text,
})
export type JobArtifact = z.infer<typeof JobArtifact>

export const JobCache = z.object({
  key: text,
  untracked: z.boolean().nullish(),
  policy: text,
  paths: list(z.string()),
  when: z.enum(['on_success', 'on_failure', 'always', '']).catch(''),
  fallback_keys: list(z.string()),
})
export type JobCache = z.infer<typeof JobCache>

export const JobDependency = z.object({
  id: z.int(),
  token: text,
  name: text,
  artifacts_file: z.object({ filename: text, size: count }).nullish(),
})
export type JobDependency = z.infer<typeof JobDependency>

export const VaultSecret = z.object({
  server: z.object({
    url: z.string(),
    namespace: text,
    auth: z.object({ name: text, path: text, data: z.record(z.string(), z.unknown()).nullish() }),
  }),
  engine: z.object({ name: text, path: text }),
  path: z.string(),
  field: z.string(),
})
export type VaultSecret = z.infer<typeof VaultSecret>

export const AwsSecret = z.object({
  secret_id: z.string(),
  version_id: text,
  version_stage: text,
  field: text,
  region: text,
  role_arn: text,
  role_session_name: text,
  server: z.object({ region: text, jwt: text, role_arn: text, role_session_name: text }).nullish(),
})
export type AwsSecret = z.infer<typeof AwsSecret>

/** A version is a number in some documents. */
const version = z
  .union([z.string(), z.number()])
  .nullish()
  .transform((value) => String(value ?? ''))

export const GcpSecret = z.object({
  name: z.string(),
  version,
  server: z
    .object({
      project_number: text,
      workload_identity_federation_pool_id: text,
      workload_identity_federation_provider_id: text,
      jwt: text,
    })
    .prefault({}),
})
export type GcpSecret = z.infer<typeof GcpSecret>

export const AzureSecret = z.object({
  name: z.string(),
  version,
  server: z.object({ client_id: text, tenant_id: text, jwt: text, url: text }).prefault({}),
})
export type AzureSecret = z.infer<typeof AzureSecret>

/** A secret of another store, which becomes a variable. */
export const JobSecret = z.looseObject({
  vault: VaultSecret.nullish(),
  aws_secrets_manager: AwsSecret.nullish(),
  gcp_secret_manager: GcpSecret.nullish(),
  azure_key_vault: AzureSecret.nullish(),
  /** True, which is the default, if the variable is the path of a file. */
  file: z.boolean().nullish(),
})
export type JobSecret = z.infer<typeof JobSecret>

export const Job = z.object({
  id: z.int(),
  token: z.string(),
  allow_git_fetch: z.boolean().nullish(),
  job_info: z
    .object({
      name: text,
      stage: text,
      project_id: count,
      project_name: text,
      project_full_path: text,
      namespace_id: count,
      root_namespace_id: count,
      pipeline_id: count,
      time_in_queue_seconds: count,
      project_jobs_running_on_instance_runners_count: text,
      queue_size: count,
      queue_depth: count,
    })
    .prefault({}),
  git_info: z
    .object({
      repo_url: text,
      repo_object_format: text,
      ref: text,
      ref_type: text,
      sha: text,
      before_sha: text,
      refspecs: list(z.string()),
      /** 0 fetches the whole history. */
      depth: count,
      protected: z.boolean().nullish(),
    })
    .prefault({}),
  runner_info: z
    .object({
      /** Seconds. Values up to 0 mean 7200. */
      timeout: count,
    })
    .prefault({}),
  variables: list(JobVariable),
  steps: list(JobStep),
  image: JobImage.nullish(),
  services: list(JobImage),
  artifacts: list(JobArtifact),
  cache: list(JobCache),
  credentials: list(z.object({ type: text, url: text, username: text, password: text })),
  dependencies: list(JobDependency),
  features: z
    .object({
      trace_sections: z.boolean().nullish(),
      token_mask_prefixes: list(z.string()),
      failure_reasons: list(z.string()),
    })
    .prefault({}),
  hooks: list(z.object({ name: z.string(), script: list(z.string()) })),
  /** By the names of their variables. Other kinds of stores fail the job with a message that names them. */
  secrets: z.record(z.string(), JobSecret).nullish(),
  /** CI steps, which Windlass does not run. A job with them fails with a message. */
  run: text,
})
export type Job = z.infer<typeof Job>
