/** Which layer each value of a merged specification comes from. Pure. */
import { isRecord } from '@windlass/kit/json'
import { mergeAll } from './merge.ts'
import type { RuntimeLayer } from './spec.ts'

export interface NamedLayer {
  readonly name: string
  readonly layer: RuntimeLayer
}

/** Returns path -> value of all values that are not mappings, and of empty mappings. A path is the keys with dots between them. */
export function leavesOf(value: unknown, path = ''): Map<string, unknown> {
  const entries = isRecord(value) ? Object.entries(value) : []
  if (entries.length === 0) return new Map(path === '' ? [] : [[path, value]])
  return new Map(entries.flatMap(([key, field]) => [...leavesOf(field, path === '' ? key : `${path}.${key}`)]))
}

/** Returns path -> name of the highest layer that sets the value, for all values of the merged layers, lowest layer first. */
export function originsOf(layers: readonly NamedLayer[]): ReadonlyMap<string, string> {
  let merged: RuntimeLayer = {}
  let origins: ReadonlyMap<string, string> = new Map()
  for (const { name, layer } of layers) {
    merged = mergeAll([merged, layer])
    const own = leavesOf(layer)
    const below = origins
    const originOf = (path: string): string => (own.has(path) ? name : (nearest(below, path) ?? name))
    origins = new Map([...leavesOf(merged).keys()].map((path) => [path, originOf(path)]))
  }
  return origins
}

/** Returns the origin of a path or of what contains it: a list of tolerations becomes a map when a layer above adds entries to it. */
function nearest(origins: ReadonlyMap<string, string>, path: string): string | undefined {
  const found = origins.get(path)
  if (found !== undefined || !path.includes('.')) return found
  return nearest(origins, path.slice(0, path.lastIndexOf('.')))
}
