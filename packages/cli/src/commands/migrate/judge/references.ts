/** Names that pipelines refer to. */
import { BUILT_IN_CATALOG, catalogOf, joinCatalogs, partial, type StepCatalog } from '@windlass/pipeline'
import type { Surroundings, Verdict } from './verdict.ts'

/** What pipelines may refer to: resources that move, and those that exist already. */
export interface References extends Pick<Surroundings, 'runtimes' | 'automaticClone'> {
  readonly stepTypes: StepCatalog
  readonly contexts: NonNullable<Surroundings['contexts']>
  /** Names of these contexts, and of those of type git. */
  readonly contextNames: ReadonlySet<string>
  readonly gitContextNames: ReadonlySet<string>
}

/** Collects the names from the verdicts about step types and contexts, and from where the resources go. */
export function referencesOf(
  verdicts: readonly Verdict[],
  { runtimes, automaticClone, contexts = [] }: Surroundings,
): References {
  const resources = verdicts.flatMap((verdict) => ('reasons' in verdict ? [] : verdict.resource))
  const own = resources.flatMap(({ kind, name, text }) => {
    const at = name.lastIndexOf(':')
    return kind === 'step-type' ? { name: name.slice(0, at), version: name.slice(at + 1), text } : []
  })
  const moving = resources.flatMap((one) => (one.kind === 'context' ? one.body : []))
  const movingNames = new Set(moving.map(({ name }) => name))
  const all = [...moving, ...contexts.filter(({ name }) => !movingNames.has(name))]
  return {
    stepTypes: partial(joinCatalogs(catalogOf(own), BUILT_IN_CATALOG)),
    contexts: all,
    contextNames: new Set(all.map(({ name }) => name)),
    gitContextNames: new Set(all.flatMap(({ name, type }) => (type === 'git' ? name : []))),
    runtimes,
    automaticClone,
  }
}
