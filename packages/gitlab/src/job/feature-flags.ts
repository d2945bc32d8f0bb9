/** Feature flags of the runners of GitLab that change what Windlass does. Others have no effect. */
import type { RunnerSection } from '../config/schema.ts'
import type { Job } from './payload.ts'

/** Flags with their defaults. */
export const FLAGS = {
  FF_DISABLE_AUTOMATIC_TOKEN_ROTATION: false,
  FF_ENABLE_BASH_EXIT_CODE_CHECK: false,
  FF_HASH_CACHE_KEYS: false,
  FF_KUBERNETES_HONOR_ENTRYPOINT: false,
  FF_MASK_ALL_DEFAULT_TOKENS: true,
  FF_SECRET_RESOLVING_FAILS_IF_MISSING: true,
  FF_TIMESTAMPS: true,
  FF_USE_ADAPTIVE_REQUEST_CONCURRENCY: true,
  FF_USE_ADVANCED_POD_SPEC_CONFIGURATION: false,
  FF_USE_POD_ACTIVE_DEADLINE_SECONDS: true,
} as const satisfies Readonly<Record<string, boolean>>

export type FeatureFlags = Readonly<Record<keyof typeof FLAGS, boolean>>

/**
 * Returns the flags of a runner, or of one of its jobs. The order is that of the original: `[runners.feature_flags]`, the variables of the job, `environment`
 * of the runner, the defaults.
 */
export function featureFlags(
  { feature_flags: configured = {}, environment = [] }: Pick<RunnerSection, 'feature_flags' | 'environment'>,
  job?: Pick<Job, 'variables'>,
): FeatureFlags {
  const pairs = environment.map((entry): readonly [string, string] => {
    const at = entry.indexOf('=')
    return [entry.slice(0, at), entry.slice(at + 1)]
  })
  const values = new Map(
    job === undefined ? [] : [...pairs, ...job.variables.map(({ key, value }): readonly [string, string] => [key, value])],
  )
  const entries = Object.entries(FLAGS).map(([name, usual]) => [name, configured[name] ?? truth(values.get(name)) ?? usual])
  // Each flag is in the table.
  return Object.fromEntries(entries) as FeatureFlags
}

/** Returns the names of feature flags among names of variables or flags that have no effect. */
export function unknownFlags(names: readonly string[]): string[] {
  return [...new Set(names)].filter((name) => name.startsWith('FF_') && !Object.hasOwn(FLAGS, name))
}

function truth(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined
  if (['1', 't', 'true'].includes(text.toLowerCase())) return true
  return ['0', 'f', 'false', ''].includes(text.toLowerCase()) ? false : undefined
}

/** Returns the line of the log that names flags with another value than their default; undefined without one. */
export function flagsLine(flags: FeatureFlags): string | undefined {
  const defaults: Readonly<Record<string, boolean>> = FLAGS
  const changed = Object.entries(flags).filter(([name, value]) => defaults[name] !== value)
  return changed.length === 0 ? undefined : `  feature flags: ${changed.map(([name, value]) => `${name}:${value}`).join(', ')}`
}
