/** Which images a job may use, and when they are pulled. */
import type { KubernetesSection } from '../config/sections/kubernetes-section.ts'
import { ConfigurationError } from './configuration-error.ts'
import { matchesGlob } from './globs.ts'

export type PullPolicy = 'Always' | 'IfNotPresent' | 'Never'

const POLICIES: Readonly<Record<string, PullPolicy>> = { always: 'Always', 'if-not-present': 'IfNotPresent', never: 'Never' }

/** Throws `ConfigurationError` if an image is not allowed. `known` are images of the configuration, which always are. */
export function requireAllowed(
  image: string,
  {
    kind,
    patterns = [],
    known,
  }: { kind: 'image' | 'service'; patterns: readonly string[] | undefined; known: readonly string[] },
): void {
  if (patterns.length === 0 || known.includes(image) || patterns.some((pattern) => matchesGlob(pattern, image))) return
  const list = patterns.map((pattern) => `\n- ${pattern}`).join('')
  throw new ConfigurationError(
    `The ${kind} "${image}" is not in the list of allowed ${kind}s of this runner (allowed_${kind}s):${list}`,
  )
}

/**
 * Returns the policies that are tried one after the other; undefined leaves the choice to the cluster. `ofJob` are those that the job names. Throws
 * `ConfigurationError` if none of them is allowed.
 */
export function pullPolicies(
  { pull_policy: configured, allowed_pull_policies: allowed }: Pick<KubernetesSection, 'pull_policy' | 'allowed_pull_policies'>,
  ofJob: readonly string[],
): readonly (PullPolicy | undefined)[] {
  const own = (typeof configured === 'string' ? [configured] : (configured ?? [])).filter((policy) => policy !== '')
  const permitted: readonly string[] = allowed ?? own
  const wanted: readonly string[] = ofJob.length > 0 ? ofJob : own
  if (wanted.length === 0) return [undefined]
  const unknown = wanted.find((policy) => POLICIES[policy] === undefined)
  if (unknown !== undefined)
    throw new ConfigurationError(`The pull policy "${unknown}" is not one of ${Object.keys(POLICIES).join(', ')}.`)
  const found = permitted.length === 0 && ofJob.length === 0 ? wanted : wanted.filter((policy) => permitted.includes(policy))
  if (found.length > 0) return found.map((policy) => POLICIES[policy])
  const list = permitted.length === 0 ? 'none' : permitted.join(', ')
  throw new ConfigurationError(
    `The pull policies ${wanted.join(', ')} are not allowed. Allowed are: ${list} (allowed_pull_policies, or else pull_policy).`,
  )
}
