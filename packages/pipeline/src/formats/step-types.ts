import { parseYaml } from '../syntax/parse.ts'
import type { Source } from '../syntax/parse.ts'
import type { TreeNode } from '../syntax/tree.ts'
import { child, textOf } from '../syntax/tree.ts'

/** Returns the types of all steps of a document by step name, as written, for links to the pages of the types. */
export function stepTypes(source: Source): Map<string, string> {
  const { root } = parseYaml(source)
  const types = new Map<string, string>()
  gather(child(root, 'steps') ?? child(child(root, 'spec'), 'steps'), types)
  return types
}

function gather(steps: TreeNode | undefined, types: Map<string, string>): void {
  if (steps?.kind !== 'map') return
  for (const { key, value } of steps.entries.values()) {
    if (value.kind !== 'map') continue
    types.set(key, (textOf(child(value, 'type')) ?? 'freestyle').split(':', 1)[0] ?? '')
    gather(child(value, 'steps'), types)
  }
}
