/** Which steps a run was asked for, or asked to leave out (pipeline language 3.16). */
import type { BuildContext } from './outcome.ts'
import { belongings, lineage } from './shape.ts'
import type { Node, Shape } from './shape.ts'

/**
 * The steps that may run; undefined when all may. A chosen step brings the groups around it, all that is inside it, and the hooks of these;
 * hooks of the build always run.
 */
export function selectedSteps(
  shape: Shape,
  { only = [], skip = [] }: Pick<BuildContext, 'only' | 'skip'>,
): ReadonlySet<Node> | undefined {
  if (only.length === 0 && skip.length === 0) return undefined
  const named = only.flatMap((name) => shape.byName.get(name) ?? [])
  const chosen = only.length === 0 ? shape.nodes : [...shape.hooks.flatMap(whole), ...named.flatMap(family)]
  const left = new Set(skip.flatMap((name) => shape.byName.get(name) ?? []).flatMap(whole))
  return new Set(chosen.filter((node) => !left.has(node)))
}

function whole(node: Node): Node[] {
  return [node, ...belongings(node)]
}

function family(node: Node): Node[] {
  return [...lineage(node).flatMap((around) => [around, ...around.hooks.flatMap(whole)]), ...belongings(node)]
}
