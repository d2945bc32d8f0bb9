/** Queries about the steps of a plan, for the code that runs them. */
import { stateOf } from '../state/fold.ts'
import type { Reason } from '../lists.ts'
import type { BuildContext } from './outcome.ts'
import type { Plan } from '../plan.ts'
import { RoundStates } from './round-states.ts'
import { belongings, lineage, shapeOf } from './shape.ts'
import type { Snapshot } from '../state/snapshot.ts'

/** Returns the names of all steps inside a group, including those of their hooks but not of the group's own. */
export function stepsInside(plan: Plan, group: string): ReadonlySet<string> {
  const node = shapeOf(plan).byName.get(group)
  return new Set(node === undefined ? [] : belongings(node, { inside: true }).map(({ name }) => name))
}

/** Returns true inside an on_finish hook, which the first request to stop the build does not interrupt. */
export function isInOnFinish(plan: Plan, step: string): boolean {
  const node = shapeOf(plan).byName.get(step)
  return node !== undefined && lineage(node).some((around) => around.step.hook?.moment === 'on_finish')
}

/** Returns true for a step that contains others and runs nothing itself. */
export function isGroup(plan: Plan, step: string): boolean {
  return shapeOf(plan).byName.get(step)?.isGroup ?? false
}

/** Returns the reason if one of its steps terminated the build: an approval that was not decided in time. */
export function stoppedBy(plan: Plan, snapshot: Snapshot): Reason | undefined {
  const states = shapeOf(plan).nodes.flatMap(({ name, isHook }) => (isHook ? [] : [stateOf(snapshot, name)]))
  return states.find(({ status }) => status === 'terminated')?.reason
}

/** Returns `workflow.result` as a step sees it that starts now. */
export function workflowResultAt(plan: Plan, snapshot: Snapshot, place: { context: BuildContext; step: string }): string {
  const states = new RoundStates(plan, snapshot, place.context)
  const node = states.shape.byName.get(place.step)
  return node === undefined ? 'running' : states.workflowResultOf(node)
}
