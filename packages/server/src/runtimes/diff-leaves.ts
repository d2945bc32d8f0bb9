/** Differences of two trees by the paths of their leaves. */
import { isDeepStrictEqual } from 'node:util'
import { isRecord } from '@windlass/kit/json'

/** A leaf that differs. `from` or `to` is absent where a tree does not have it. */
export interface LeafChange {
  readonly path: string
  readonly from?: unknown
  readonly to?: unknown
}

/** Lists the leaves that differ, by path. */
export function diffLeaves(before: unknown, after: unknown): LeafChange[] {
  const [from, to] = [leaves(before), leaves(after)]
  const paths = [...new Set([...from.keys(), ...to.keys()])].toSorted()
  return paths.flatMap((path) => {
    const [one, other] = [from.get(path), to.get(path)]
    return isDeepStrictEqual(one, other)
      ? []
      : [{ path, ...(from.has(path) && { from: one }), ...(to.has(path) && { to: other }) }]
  })
}

/** Returns path -> value of all values that are not mappings, and of empty mappings. */
function leaves(value: unknown, path = ''): Map<string, unknown> {
  const entries = isRecord(value) ? Object.entries(value) : []
  if (entries.length === 0) return new Map(path === '' ? [] : [[path, value]])
  return new Map(entries.flatMap(([key, field]) => [...leaves(field, path === '' ? key : `${path}.${key}`)]))
}
