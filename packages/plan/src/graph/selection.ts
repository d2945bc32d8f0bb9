/** Selects the steps of a run that was limited to some steps (`only`, `skip`). */
import type { BuildContext } from './outcome.ts'
import { belongings, lineage } from './shape.ts'
import type { Node, Shape } from './shape.ts'

/**
 * Returns the steps that may run, or undefined if all may. A selected step includes the groups around it, everything inside it, and their
 * hooks; hooks of the build always run.
 */
export function selectedSteps(
  shape: Shape,
  { only = [], skip = [] }: Pick<BuildContext, 'only' | 'skip'>,
): ReadonlySet<Node> | undefined {
  if (only.length === 0 && skip.length === 0) return undefined
  const named = only.flatMap((name) => shape.byName.get(name) ?? [])
  const chosen = only.length === 0 ? shape.nodes : [...shape.hooks.flatMap(withContents), ...named.flatMap(withRelatives)]
  const left = new Set(skip.flatMap((name) => shape.byName.get(name) ?? []).flatMap(withContents))
  return new Set(chosen.filter((node) => !left.has(node)))
}

function withContents(node: Node): Node[] {
  return [node, ...belongings(node)]
}

function withRelatives(node: Node): Node[] {
  return [...lineage(node).flatMap((around) => [around, ...around.hooks.flatMap(withContents)]), ...belongings(node)]
}
