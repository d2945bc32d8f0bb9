/** What leaves a typed step when it ends (pipeline language 9.4). */
import { stateOf } from './fold.ts'
import { belongings, typedOf } from './shape.ts'
import type { Node } from './shape.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * The outputs of a typed step, from what its parts exported (all of it) and from their own outputs (those it declares to return; all when it
 * declares nothing); of one name the part that ended last wins. A problem when one that it must return is missing. Nothing for other groups.
 */
export function typedOutputs(group: Node, snapshot: Snapshot): { outputs?: Readonly<Record<string, string>>; problem?: string } {
  const typed = typedOf(group.step)
  if (typed === undefined) return {}
  const parts = partsOf(group).toSorted((a, b) => endOf(a, snapshot) - endOf(b, snapshot))
  const outputs: Record<string, string> = Object.create(null)
  for (const part of parts) {
    const exported = exportsOf(part, snapshot)
    for (const [name, value] of Object.entries(stateOf(snapshot, part.name).output)) {
      if (typed.returns === undefined || typed.returns.names.includes(name) || exported.has(name)) outputs[name] = value
    }
  }
  const missing = (typed.returns?.required ?? []).filter((name) => !Object.hasOwn(outputs, name))
  if (missing.length === 0) return { outputs: { ...outputs } }
  return {
    problem: `Step "${group.name}" of type ${typed.type} has no value for ${missing.map((name) => `"${name}"`).join(', ')}, which it must return.`,
  }
}

/** The steps inside, those of plain groups too; a typed step inside speaks for its own parts. */
function partsOf(group: Node): Node[] {
  return group.children.flatMap((child) => (child.isGroup && typedOf(child.step) === undefined ? partsOf(child) : [child]))
}

/** Names that a part, or a step inside it, has exported to the whole build. */
function exportsOf(part: Node, snapshot: Snapshot): Set<string> {
  const inside = new Set([part, ...belongings(part)].map(({ name }) => name))
  return new Set(snapshot.exports.filter(({ step }) => step !== undefined && inside.has(step)).map(({ name }) => name))
}

function endOf({ name }: Node, snapshot: Snapshot): number {
  return stateOf(snapshot, name).finishedAt ?? Infinity
}
