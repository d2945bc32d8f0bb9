/** The step that a failed build is blamed on. */
import { stateOf } from '../state/fold.ts'
import type { Plan } from '../plan.ts'
import { buildOutcome, failsElection, isFatalFailure } from './outcome.ts'
import type { BuildContext, OutcomeInput } from './outcome.ts'
import { hookOf, shapeOf } from './shape.ts'
import type { Node } from './shape.ts'
import type { Snapshot } from '../state/snapshot.ts'

/**
 * Returns the step that decided the outcome, or would decide it if the build ended now: the step inside a failed group instead of the group, and no
 * clean-up hook. Undefined if no step failed, and for a build that was asked to stop.
 */
export function blamedStep(plan: Plan, snapshot: Snapshot, context: BuildContext = {}): string | undefined {
  const outcome = buildOutcome(plan, snapshot, context)
  if (outcome.status === 'success' || context.cancelled !== undefined) return undefined
  const { nodes, byName } = shapeOf(plan)
  // Success criteria name no step. The first failure is then the most likely cause.
  const decider =
    outcome.step === undefined
      ? nodes.find(({ name, isHook }) => !isHook && stateOf(snapshot, name).status === 'error')
      : byName.get(outcome.step)
  return decider === undefined ? undefined : innermost(decider, { plan, snapshot, context }).name
}

/** Follows a failed group to the step inside it that made it fail. */
function innermost(node: Node, input: OutcomeInput): Node {
  const cause = causeIn(node, input)
  return cause === undefined ? node : innermost(cause, input)
}

function causeIn({ name, children }: Node, input: OutcomeInput): Node | undefined {
  const unelected = children.find((child) => failsElection(child, input))
  if (unelected !== undefined) return hookOf(unelected.hooks, 'on_elected')
  const { status } = stateOf(input.snapshot, name)
  return (
    children.find((child) => isFatalFailure(child, input)) ??
    children.find((child) => stateOf(input.snapshot, child.name).status === status)
  )
}
