/** Where the compiler finds step types. It asks and never waits: whoever compiles has loaded what there is. */
import type { Source } from '../parse.ts'
import { readStepType } from './manifest.ts'
import { latestVersion } from './version.ts'

export interface CatalogEntry {
  readonly name: string
  readonly version: string
  readonly text: string
}

export interface StepCatalog {
  /** The step type of this version, else the latest one. */
  find(name: string, version: string | undefined): CatalogEntry | undefined
  /** For suggestions. */
  names(): readonly string[]
}

/** A catalog of these step types; an earlier one wins over a later one of the same name and version. */
export function catalogOf(entries: readonly CatalogEntry[]): StepCatalog {
  const byName = new Map<string, Map<string, CatalogEntry>>()
  for (const entry of entries) {
    const versions = byName.get(entry.name) ?? new Map<string, CatalogEntry>()
    byName.set(entry.name, versions)
    if (!versions.has(entry.version)) versions.set(entry.version, entry)
  }
  return {
    find(name, version) {
      const versions = byName.get(name)
      return versions?.get(version ?? latestVersion([...versions.keys()]) ?? '')
    },
    names: () => [...byName.keys()],
  }
}

/** The first catalog that has the step type answers. */
export function joinCatalogs(...catalogs: readonly StepCatalog[]): StepCatalog {
  return {
    find(name, version) {
      for (const catalog of catalogs) {
        const found = catalog.find(name, version)
        if (found !== undefined) return found
      }
      return undefined
    },
    names: () => [...new Set(catalogs.flatMap((catalog) => catalog.names()))],
  }
}

/** A manifest as a catalog has it; undefined when it cannot be used, which `readStepType` explains. */
export function toCatalogEntry(source: Source): CatalogEntry | undefined {
  const { manifest } = readStepType(source)
  return manifest === undefined ? undefined : { name: manifest.name, version: manifest.version, text: source.text }
}

export const EMPTY_CATALOG: StepCatalog = { find: () => undefined, names: () => [] }
