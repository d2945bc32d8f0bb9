/**
 * What variables of a job change in its pod, as far as the configuration allows. A guard that is absent makes a variable have no effect; a value that its guard
 * refuses fails the job.
 */
import { RESOURCE_KEYS, type KubernetesSection, type ResourceKey } from '../config/sections/kubernetes-section.ts'
import { ConfigurationError } from './configuration-error.ts'
import { parseQuantity } from './quantity.ts'

export type Lookup = (name: string) => string | undefined

export interface Overwritten {
  readonly section: KubernetesSection
  /** Lines for the log of the job. */
  readonly notes: readonly string[]
}

/** Texts that a variable replaces, with the key of the pattern that allows it. */
const TEXTS = [
  ['namespace', 'KUBERNETES_NAMESPACE_OVERWRITE', 'namespace_overwrite_allowed', 'Namespace'],
  ['service_account', 'KUBERNETES_SERVICE_ACCOUNT_OVERWRITE', 'service_account_overwrite_allowed', 'ServiceAccount'],
] as const

/** Returns the configuration for a job. `names` are the names of its variables. Throws `ConfigurationError`. */
export function overwrite(section: KubernetesSection, lookup: Lookup, names: readonly string[]): Overwritten {
  const notes: string[] = []
  const changed: KubernetesSection = { ...section }
  for (const [key, variable, guard, shown] of TEXTS) {
    // A job with a namespace of its own has no other one.
    const value = key === 'namespace' && section.namespace_per_job === true ? '' : (lookup(variable) ?? '')
    if (value === '' || !isGuarded(section[guard], value, { variable, guard })) continue
    changed[key] = value
    notes.push(`"${shown}" overwritten with "${value}"`)
  }
  for (const key of RESOURCE_KEYS) {
    const value = resourceOverwrite(section, key, lookup)
    if (value === undefined) continue
    changed[key] = value
    notes.push(`"${shownName(key)}" overwritten with "${value}"`)
  }
  const table = (
    key: 'node_selector' | 'node_tolerations' | 'pod_labels' | 'pod_annotations',
    read: (text: string) => readonly [string, string],
  ): void => {
    const found = overwrittenTable(section, { key, lookup, names, read })
    if (found === undefined) return
    changed[key] = { ...section[key], ...found }
    for (const [name, value] of Object.entries(found))
      notes.push(`"${shownName(key)}" ${JSON.stringify(name)} overwritten with ${JSON.stringify(value)}`)
  }
  table('node_selector', (text) => splitAt(text, '='))
  table('node_tolerations', (text) => splitAtLast(text, ':'))
  table('pod_labels', (text) => splitAt(text, '='))
  table('pod_annotations', (text) => splitAt(text, '='))
  return { section: changed, notes }
}

/** Returns the value of a resource that a variable sets; undefined without an effect. Also for the own variables of a service. */
export function resourceOverwrite(section: KubernetesSection, key: ResourceKey, lookup: Lookup): string | undefined {
  const name = `KUBERNETES_${key.toUpperCase()}`
  const value = lookup(name)?.trim() ?? ''
  const most = section[`${key}_overwrite_max_allowed`] ?? ''
  if (value === '' || most === '') return undefined
  const [wanted, limit] = [parseQuantity(value), parseQuantity(most)]
  if (wanted === undefined || limit === undefined)
    throw new ConfigurationError(
      `${name} has the value "${value}", which is not a quantity of Kubernetes, such as 500m, 2 or 1Gi.`,
    )
  if (wanted > limit)
    throw new ConfigurationError(`${name} requests "${value}", which is higher than the limit "${most}" that the runner allows.`)
  return value
}

function isGuarded(
  pattern: string | undefined,
  value: string,
  { variable, guard }: { readonly variable: string; readonly guard: string },
): boolean {
  if (pattern === undefined || pattern === '') return false
  if (new RegExp(pattern).test(value)) return true
  throw new ConfigurationError(
    `The value "${value}" of ${variable} does not match "${pattern}", which is ${guard} of this runner.`,
  )
}

interface TableOptions {
  readonly key: 'node_selector' | 'node_tolerations' | 'pod_labels' | 'pod_annotations'
  readonly lookup: Lookup
  readonly names: readonly string[]
  readonly read: (text: string) => readonly [string, string]
}

/** Values of all variables that begin with the name of the table, in the order of their names. */
function overwrittenTable(
  section: KubernetesSection,
  { key, lookup, names, read }: TableOptions,
): Record<string, string> | undefined {
  const prefix = `KUBERNETES_${key.toUpperCase()}_`
  const guard = `${key}_overwrite_allowed` as const
  const given = names.filter((name) => name.startsWith(prefix) && name.length > prefix.length).toSorted()
  const entries = given.flatMap((name) => {
    const value = lookup(name) ?? ''
    return value !== '' && isGuarded(section[guard], value, { variable: name, guard }) ? [read(value)] : []
  })
  return entries.length === 0 ? undefined : Object.fromEntries(entries)
}

function splitAt(text: string, separator: string): readonly [string, string] {
  const at = text.indexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

function splitAtLast(text: string, separator: string): readonly [string, string] {
  const at = text.lastIndexOf(separator)
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

/** `CPULimit` of `cpu_limit`, as the original writes it. */
function shownName(key: string): string {
  return key
    .split('_')
    .map((part) => (part === 'cpu' ? 'CPU' : part.charAt(0).toUpperCase() + part.slice(1)))
    .join('')
}
