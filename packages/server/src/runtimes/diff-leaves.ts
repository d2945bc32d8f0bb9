/** Differences of two trees by the paths of their leaves. */
import { isDeepStrictEqual } from 'node:util'
import { leavesOf } from '@windlass/protocol'

/** A leaf that differs. `from` or `to` is absent where a tree does not have it. */
export interface LeafChange {
  readonly path: string
  readonly from?: unknown
  readonly to?: unknown
}

/** Lists the leaves that differ, by path. */
export function diffLeaves(before: unknown, after: unknown): LeafChange[] {
  const [from, to] = [leavesOf(before), leavesOf(after)]
  const paths = [...new Set([...from.keys(), ...to.keys()])].toSorted()
  return paths.flatMap((path) => {
    const [one, other] = [from.get(path), to.get(path)]
    return isDeepStrictEqual(one, other)
      ? []
      : [{ path, ...(from.has(path) && { from: one }), ...(to.has(path) && { to: other }) }]
  })
}
