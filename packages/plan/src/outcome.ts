/** What a build ends as, from its plan and the states of its steps (pipeline language 3.6). */
import { stateOf } from './fold.ts'
import type { FinalBuildStatus, Reason } from './lists.ts'
import { isInfra } from './lists.ts'
import type { FlagTemplate, Plan, PlanStep } from './plan.ts'
import { buildScope } from './scope.ts'
import type { Snapshot, StepState } from './snapshot.ts'
import { toFlag } from './step-fields.ts'
import { substitute } from './substitute.ts'

/** What decisions about a build need beside its plan and snapshot. */
export interface BuildContext {
  /** Variables that only the engine knows; see `ScopeInput`. */
  readonly builtins?: Readonly<Record<string, string>> | undefined
  /** Values of secrets by reference name. */
  readonly secrets?: Readonly<Record<string, string>> | undefined
  /** Set once the build is asked to stop, with the reason (`cancelled`, `superseded`, ...). */
  readonly cancelled?: Reason | undefined
  /** Set when not even clean-up steps may run any more. */
  readonly forced?: boolean | undefined
  /** Run these steps alone (with the groups that hold them); leave these out. */
  readonly only?: readonly string[] | undefined
  readonly skip?: readonly string[] | undefined
}

export interface Outcome {
  readonly status: FinalBuildStatus
  readonly reason?: Reason
  /** The step that decided it. */
  readonly step?: string
  readonly message?: string
}

/** How much the failure of a step weighs. `fatal` stops the build, `strict` lets it go on and fails it at the end, `ignored` is forgotten. */
export type FailureWeight = 'fatal' | 'strict' | 'ignored'

/** What is known of a build at one moment. */
export interface Standing {
  readonly plan: Plan
  readonly snapshot: Snapshot
  readonly context: BuildContext
}

/** The weight of a failed step. Inside a group that has `fail_fast: false` nothing weighs anything. */
export function failureWeight(step: PlanStep, standing: Standing): FailureWeight {
  const { plan } = standing
  for (let parent = parentOf(plan, step); parent !== undefined; parent = parentOf(plan, parent)) {
    if (!flagAt(parent, parent.failFast, standing)) return 'ignored'
  }
  if (flagAt(step, step.failFast, standing)) return 'fatal'
  const isGroup = plan.steps.some(({ parent }) => parent === step.name)
  if (isGroup) return 'ignored'
  return flagAt(step, step.strictFailFast, standing) || flagAt(step, plan.strictFailFast, standing) ? 'strict' : 'ignored'
}

/** What the build ends as when all its steps are final; earlier, what it would end as if it ended now. */
export function buildOutcome(plan: Plan, snapshot: Snapshot, context: BuildContext = {}): Outcome {
  if (context.cancelled !== undefined) return { status: 'terminated', reason: context.cancelled }
  const states = plan.steps.map((step) => ({ step, state: stateOf(snapshot, step.name) }))
  const terminated = states.find(({ state }) => state.status === 'terminated')
  if (terminated !== undefined)
    return { status: 'terminated', reason: terminated.state.reason ?? 'cancelled', step: terminated.step.name }
  const failed = states
    .filter(({ state }) => state.status === 'error')
    .map(({ step, state }) => ({ step, state, weight: failureWeight(step, { plan, snapshot, context }) }))
  const first = failed.find(({ weight }) => weight === 'fatal') ?? failed.find(({ weight }) => weight === 'strict')
  return first === undefined ? { status: 'success' } : { status: 'error', ...blame(first.step, first.state) }
}

/** A loss of infrastructure and a denial speak for themselves; every other failure is told as the failure of the step. */
function blame(step: PlanStep, state: StepState): Omit<Outcome, 'status'> {
  const own = state.reason !== undefined && (isInfra(state.reason) || state.reason === 'denied')
  return {
    reason: own && state.reason !== undefined ? state.reason : 'step-failed',
    step: step.name,
    ...(state.message !== undefined && { message: state.message }),
  }
}

function parentOf(plan: Plan, step: PlanStep): PlanStep | undefined {
  return step.parent === undefined ? undefined : plan.steps.find(({ name }) => name === step.parent)
}

/**
 * A flag as it was when `step` started: what steps export later does not change it. Text that is no boolean counts as true, the default
 * that loses nothing.
 */
function flagAt(step: PlanStep, flag: FlagTemplate, { plan, snapshot, context }: Standing): boolean {
  if (typeof flag === 'boolean') return flag
  const startedAt = stateOf(snapshot, step.name).startedAt ?? Infinity
  const exports = snapshot.exports.filter((exported) => exported.step !== step.name && (exported.at ?? -Infinity) <= startedAt)
  const scope = buildScope({ plan, snapshot: { ...snapshot, exports }, builtins: context.builtins, secrets: context.secrets })
  return toFlag(substitute(flag, scope).text) ?? true
}
