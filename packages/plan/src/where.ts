/** Where steps stand in a plan, for those that run it. */
import { stateOf } from './fold.ts'
import type { Reason } from './lists.ts'
import type { BuildContext } from './outcome.ts'
import type { Plan } from './plan.ts'
import { RoundStates } from './round-states.ts'
import { belongings, lineage, shapeOf } from './shape.ts'
import type { Snapshot } from './snapshot.ts'

/** The names of all steps inside a group, those of their hooks included, but not of its own. */
export function stepsInside(plan: Plan, group: string): ReadonlySet<string> {
  const node = shapeOf(plan).byName.get(group)
  return new Set(node === undefined ? [] : belongings(node, { inside: true }).map(({ name }) => name))
}

/** True inside an on_finish hook: a first wish to stop the build lets it end. */
export function isInOnFinish(plan: Plan, step: string): boolean {
  const node = shapeOf(plan).byName.get(step)
  return node !== undefined && lineage(node).some((around) => around.step.hook?.moment === 'on_finish')
}

/** True for a step that holds others and runs nothing itself. */
export function isGroup(plan: Plan, step: string): boolean {
  return shapeOf(plan).byName.get(step)?.isGroup ?? false
}

/** Why the build is over because of one of its steps: an approval that nobody decided in time. */
export function stoppedBy(plan: Plan, snapshot: Snapshot): Reason | undefined {
  const states = shapeOf(plan).nodes.flatMap(({ name, isHook }) => (isHook ? [] : [stateOf(snapshot, name)]))
  return states.find(({ status }) => status === 'terminated')?.reason
}

/** `workflow.result` as a step sees it that starts now. */
export function workflowResultAt(plan: Plan, snapshot: Snapshot, place: { context: BuildContext; step: string }): string {
  const states = new RoundStates(plan, snapshot, place.context)
  const node = states.shape.byName.get(place.step)
  return node === undefined ? 'running' : states.workflowResultOf(node)
}
