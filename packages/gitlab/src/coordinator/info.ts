/** What the runner tells GitLab about itself: version, platform and the features that it implements. */
import { fault, type Problem } from '@windlass/kit'

/**
 * Features of the runner API of GitLab. All are always sent. The server changes what it sends by them, so a feature is only true if the runner
 * implements it: `native_steps_integration` would bring steps, and `job_inputs` values to insert. `vault_secrets` brings secrets of all stores. `session` and
 * `terminal` depend on the configuration.
 */
export const FEATURES = {
  variables: true,
  image: true,
  services: true,
  artifacts: true,
  cache: true,
  fallback_cache_keys: true,
  upload_multiple_artifacts: true,
  upload_raw_artifacts: true,
  refspecs: true,
  masking: true,
  raw_variables: true,
  artifacts_exclude: true,
  multi_build_steps: true,
  trace_reset: true,
  trace_checksum: true,
  trace_size: true,
  cancelable: true,
  cancel_gracefully: true,
  return_exit_code: true,
  service_variables: true,
  service_multiple_aliases: true,
  image_executor_opts: true,
  two_phase_job_commit: true,
  vault_secrets: true,
  session: false,
  terminal: false,
  proxy: false,
  native_steps_integration: false,
  job_inputs: false,
  shared: false,
  service_executor_opts: false,
} as const

export type Labels = Readonly<Record<string, string>>

export interface RunnerInfo {
  readonly name: string
  readonly version: string
  readonly revision: string
  readonly platform: string
  readonly architecture: string
  readonly executor: string
  readonly shell: string
  readonly features: Readonly<Record<string, boolean>>
  readonly config: { readonly gpus: string }
  readonly labels?: Labels
}

export interface InfoOptions {
  readonly version?: string
  /** Commit of the program. */
  readonly revision?: string
  /** Shell of the runner entry. Default: `bash`. */
  readonly shell?: string
  /** Labels of the entry, merged with those of the whole configuration by `mergeLabels`. */
  readonly labels?: Labels
  /** True for a manager that serves terminals of jobs. Default: false. */
  readonly hasTerminals?: boolean
}

/** Returns the `info` object of requests. */
export function runnerInfo({
  version = '0.0.0',
  revision = 'unknown',
  shell = 'bash',
  labels = {},
  hasTerminals = false,
}: InfoOptions = {}): RunnerInfo {
  return {
    name: 'windlass',
    version,
    revision,
    platform: process.platform,
    architecture: ARCHITECTURES[process.arch] ?? process.arch,
    executor: 'kubernetes',
    shell,
    features: { ...FEATURES, session: hasTerminals, terminal: hasTerminals },
    config: { gpus: '' },
    ...(Object.keys(labels).length > 0 && { labels }),
  }
}

/** Names of GitLab for architectures that Node calls otherwise. */
const ARCHITECTURES: Readonly<Record<string, string>> = { x64: 'amd64', ia32: '386' }

const MAX_LABELS = 32
const LABEL_KEY = /^[a-zA-Z0-9_][a-zA-Z0-9._-]{2,64}$/
const LABEL_VALUE = /^[a-zA-Z0-9._-]{1,256}$/

/**
 * Merges the labels of the whole configuration with those of a runner entry, which win. Rules of the runner API of GitLab: at most 32 labels; a key has 3
 * to 65 characters, a value up to 256, of letters, digits, `.`, `_` and `-`. Throws `config-invalid` with a problem for each label that is not valid.
 */
export function mergeLabels(global: Labels, own: Labels): Labels {
  const labels = { ...global, ...own }
  const problems = Object.entries(labels).flatMap(([key, value]): Problem[] => {
    if (!LABEL_KEY.test(key)) return [{ path: `labels.${key}`, message: `the key of the label "${key}" is not valid` }]
    return LABEL_VALUE.test(value) ? [] : [{ path: `labels.${key}`, message: `the value of the label "${key}" is not valid` }]
  })
  const count = Object.keys(labels).length
  if (count > MAX_LABELS)
    problems.push({ path: 'labels', message: `the runner has ${count} labels, and GitLab accepts at most ${MAX_LABELS}` })
  if (problems.length > 0) throw fault('config-invalid', { message: 'The labels of the runner are not valid.', problems })
  return labels
}
