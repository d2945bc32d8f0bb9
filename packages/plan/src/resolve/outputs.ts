/** The outputs of typed steps. */
import { stateOf } from '../state/fold.ts'
import { belongings, typedOf } from '../graph/shape.ts'
import type { Node } from '../graph/shape.ts'
import type { Snapshot } from '../state/snapshot.ts'

/**
 * Returns the outputs of a typed step: everything its parts exported, and of the parts' own outputs those that it declares to return (all if
 * it declares none). If two parts set the same name, the one that ended last wins. Returns a problem if a required output is missing, and
 * nothing for other groups.
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
    problem: `Step "${group.name}" of type ${typed.type} returned no value for the required outputs ${missing.map((name) => `"${name}"`).join(', ')}.`,
  }
}

/** Returns the steps inside a group, including those of plain groups. A nested typed step counts as one part. */
function partsOf(group: Node): Node[] {
  return group.children.flatMap((child) => (child.isGroup && typedOf(child.step) === undefined ? partsOf(child) : [child]))
}

/** Returns the names that a part, or a step inside it, exported to the whole build. */
function exportsOf(part: Node, snapshot: Snapshot): Set<string> {
  const inside = new Set([part, ...belongings(part)].map(({ name }) => name))
  return new Set(snapshot.exports.filter(({ step }) => step !== undefined && inside.has(step)).map(({ name }) => name))
}

function endOf({ name }: Node, snapshot: Snapshot): number {
  return stateOf(snapshot, name).finishedAt ?? Infinity
}
