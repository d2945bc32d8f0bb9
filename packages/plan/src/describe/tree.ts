/** Steps as a tree: children below their group, hooks around their step. */
import { HOOK_MOMENTS } from '../plan.ts'

export interface Branch<T> {
  readonly step: T
  readonly depth: number
  /** The name without the prefix of its parent. */
  readonly label: string
}

interface Node {
  readonly name: string
  /** The group that contains the step, or the step whose hook it is. */
  readonly parent?: string | null | undefined
}

/** Returns the steps with parents before their children and siblings in the given order; hooks before the build come first. */
export function toTree<T extends Node>(steps: readonly T[]): Branch<T>[] {
  const names = new Set(steps.map(({ name }) => name))
  const isRoot = ({ parent }: T): boolean => typeof parent !== 'string' || !names.has(parent)
  const children = Map.groupBy(
    steps.filter((step) => !isRoot(step)),
    ({ parent }) => parent,
  )
  const branches: Branch<T>[] = []
  function add(step: T, depth: number): void {
    branches.push({ step, depth, label: labelOf(step) })
    for (const child of (children.get(step.name) ?? []).toSorted(byMoment)) add(child, depth + 1)
  }
  for (const step of steps.filter(isRoot).toSorted(byMoment)) add(step, 0)
  return branches
}

/** Returns `on_finish` for `test.on_finish`, and for `.on_finish` of the build. */
function labelOf({ name, parent }: Node): string {
  if (name.startsWith('.')) return typeof parent !== 'string' ? name.slice(1) : name.slice(name.lastIndexOf('.') + 1)
  return typeof parent === 'string' && name.startsWith(`${parent}.`) ? name.slice(parent.length + 1) : name
}

function byMoment(a: Node, b: Node): number {
  return momentOf(a) - momentOf(b)
}

/** Returns the sort key: `on_elected` comes first, then the steps, then the other hooks. */
function momentOf({ name }: Node): number {
  const moment = HOOK_MOMENTS.findIndex((known) => name.endsWith(`.${known}`))
  if (moment < 0) return 1
  return moment === 0 ? 0 : moment + 1
}
