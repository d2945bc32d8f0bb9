/** Lookup of step types for the compiler. Synchronous: the caller must have loaded all step types. */
import type { Source } from '../syntax/parse.ts'
import { readStepType } from './manifest.ts'
import { compareForLatest, latestVersion } from './version.ts'

export interface CatalogEntry {
  readonly name: string
  readonly version: string
  readonly text: string
}

export interface StepCatalog {
  /** Returns the step type of this version, or the latest one. */
  find(name: string, version: string | undefined): CatalogEntry | undefined
  /** Returns all names, for suggestions. */
  names(): readonly string[]
  /** Returns the versions of a step type, the latest first. */
  versions(name: string): readonly string[]
  /** True if builds may know further step types, because this catalog is not that of a server. A missing type is then a warning. */
  readonly isPartial?: boolean
}

/** Returns a catalog of these step types. The first of several with the same name and version wins. */
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
    versions: (name) => latestFirst([...(byName.get(name)?.keys() ?? [])]),
  }
}

/** Returns the versions sorted for messages. */
export function latestFirst(versions: readonly string[]): string[] {
  return versions.toSorted((a, b) => compareForLatest(b, a))
}

/** Returns the same catalog, which does not claim to know all step types. */
export function partial({ find, names, versions }: StepCatalog): StepCatalog {
  return { find, names, versions, isPartial: true }
}

/** Returns a catalog that asks several catalogs; the first one with the step type wins. */
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
    versions: (name) => latestFirst([...new Set(catalogs.flatMap((catalog) => catalog.versions(name)))]),
  }
}

/** Converts a manifest to a catalog entry. Returns undefined for an invalid manifest; `readStepType` reports why. */
export function toCatalogEntry(source: Source): CatalogEntry | undefined {
  const { manifest } = readStepType(source)
  return manifest === undefined ? undefined : { name: manifest.name, version: manifest.version, text: source.text }
}
