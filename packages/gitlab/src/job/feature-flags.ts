/** Feature flags of the runners of GitLab that change what Windlass does. Others have no effect. */
import type { Variable } from './variables.ts'
import type { Job } from './payload.ts'

/** Flags with their defaults. */
export const FLAGS: Readonly<Record<string, boolean>> = {
  FF_DISABLE_AUTOMATIC_TOKEN_ROTATION: false,
  FF_ENABLE_BASH_EXIT_CODE_CHECK: false,
  FF_HASH_CACHE_KEYS: false,
  FF_KUBERNETES_HONOR_ENTRYPOINT: false,
  FF_MASK_ALL_DEFAULT_TOKENS: true,
  FF_TIMESTAMPS: true,
  FF_USE_ADVANCED_POD_SPEC_CONFIGURATION: false,
  FF_USE_POD_ACTIVE_DEADLINE_SECONDS: true,
}

/** Returns the flags of a job: those of the configuration, else those of its variables, else the defaults. */
export function jobFlags(
  { variables }: Pick<Job, 'variables'>,
  configured: Readonly<Record<string, boolean>> = {},
): Readonly<Record<string, boolean>> {
  const ofJob = new Map(variables.map(({ key, value }): readonly [Variable['key'], string] => [key, value]))
  return Object.fromEntries(
    Object.entries(FLAGS).map(([name, usual]) => [name, configured[name] ?? truth(ofJob.get(name)) ?? usual]),
  )
}

function truth(text: string | undefined): boolean | undefined {
  if (text === undefined) return undefined
  if (['1', 't', 'true'].includes(text.toLowerCase())) return true
  return ['0', 'f', 'false', ''].includes(text.toLowerCase()) ? false : undefined
}

/** Returns the line of the log that names flags with another value than their default; undefined without one. */
export function flagsLine(flags: Readonly<Record<string, boolean>>): string | undefined {
  const changed = Object.entries(flags).filter(([name, value]) => FLAGS[name] !== value)
  return changed.length === 0 ? undefined : `  feature flags: ${changed.map(([name, value]) => `${name}:${value}`).join(', ')}`
}
