/** The step types that a document needs, loaded before it is compiled for good. */
import { BUILT_IN_CATALOG, catalogOf, compile, joinCatalogs, latestVersion } from '@windlass/pipeline'
import type { CatalogEntry, Compiled, CompileOptions, Source, StepCatalog } from '@windlass/pipeline'
import type { App } from '../app.ts'
import { findStepType, listStepTypeHeads } from '../store/step-types.ts'

/** Step types inside step types, each round finding those of one level. */
const MAX_ROUNDS = 12

/**
 * Compiles with the step types of the account, then those that come with the server. A catalog answers at once and the store does not: what was
 * asked for in vain and exists is loaded, and the document compiled again.
 */
export async function compileWithTypes(app: App, source: Source, options: CompileOptions): Promise<Compiled> {
  const heads = await listStepTypeHeads(app.store.query, app.accountId)
  const loaded = new Map<string, CatalogEntry>()
  for (let round = 1; ; round += 1) {
    const missing = new Map<string, { name: string; version: string }>()
    const own: StepCatalog = {
      find(name, version) {
        const wanted = version ?? latestVersion(heads.filter((head) => head.name === name).map((head) => head.version))
        const head = heads.find((one) => one.name === name && one.version === wanted)
        if (head === undefined) return undefined
        const entry = loaded.get(head.id)
        if (entry === undefined) missing.set(head.id, head)
        return entry
      },
      names: () => [...new Set(heads.map(({ name }) => name))],
    }
    const compiled = compile(source, { ...options, stepTypes: joinCatalogs(own, BUILT_IN_CATALOG) })
    if (missing.size === 0 || round >= MAX_ROUNDS) return compiled
    for (const [id, head] of missing) {
      const row = await findStepType(app.store.query, app.accountId, head)
      loaded.set(id, { name: head.name, version: head.version, text: row?.manifest ?? '' })
    }
  }
}

/** Compiles with the step types that a build was made with, whatever has become of them since. */
export function compileFrozen(source: Source, options: CompileOptions, frozen: readonly CatalogEntry[]): Compiled {
  return compile(source, { ...options, stepTypes: joinCatalogs(catalogOf(frozen), BUILT_IN_CATALOG) })
}
