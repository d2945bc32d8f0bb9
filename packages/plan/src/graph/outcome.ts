/** The outcome of a build, and the effect of failed steps on it. */
import { judgeCondition } from '../expression/condition.ts'
import type { Verdict } from '../expression/condition.ts'
import { stateOf } from '../state/fold.ts'
import type { FinalBuildStatus, Reason } from '../lists.ts'
import { isInfra } from '../lists.ts'
import type { FlagTemplate } from '../fields/template.ts'
import type { Plan, SuccessCriteria } from '../plan.ts'
import { buildScope } from '../expression/scope.ts'
import { hookOf, shapeOf, typedOf } from './shape.ts'
import type { Node } from './shape.ts'
import type { Snapshot, StepState } from '../state/snapshot.ts'
import { toFlag } from '../fields/step-fields.ts'
import { substitute } from '../expression/substitute.ts'

/** What decisions about a build need besides its plan and snapshot. */
export interface BuildContext {
  /** Variables that only the engine knows; see `ScopeInput`. */
  readonly builtins?: Readonly<Record<string, string>> | undefined
  /** Values of secrets by reference name. */
  readonly secrets?: Readonly<Record<string, string>> | undefined
  /** Set once the build is asked to stop, with the reason (`cancelled`, `superseded`, ...). */
  readonly cancelled?: Reason | undefined
  /** True if clean-up steps must not run either. */
  readonly forced?: boolean | undefined
  /** Run only these steps (and the groups around them). */
  readonly only?: readonly string[] | undefined
  /** Leave these steps out. */
  readonly skip?: readonly string[] | undefined
  /** Groups that reached their time limit: nothing more starts inside them, and they end in error. */
  readonly expired?: ReadonlySet<string> | undefined
}

export interface Outcome {
  readonly status: FinalBuildStatus
  /** Set unless the build succeeded. */
  readonly reason?: Reason
  /** The step that decided the outcome. */
  readonly step?: string
  readonly message?: string
}

/** The state of a build at one moment. */
export interface OutcomeInput {
  readonly plan: Plan
  readonly snapshot: Snapshot
  readonly context: BuildContext
}

/** Returns the outcome of the build when all its steps are final; earlier, the outcome if it ended now. */
export function buildOutcome(plan: Plan, snapshot: Snapshot, context: BuildContext = {}): Outcome {
  if (context.cancelled !== undefined) return { status: 'terminated', reason: context.cancelled }
  const input = { plan, snapshot, context }
  const { nodes, roots } = shapeOf(plan)
  const terminated = nodes.find((node) => !node.isHook && stateOf(snapshot, node.name).status === 'terminated')
  if (terminated !== undefined)
    return {
      status: 'terminated',
      reason: stateOf(snapshot, terminated.name).reason ?? 'cancelled',
      step: terminated.name,
    }
  const hook = nodes.find((node) => failsBuild(node, input))
  if (hook !== undefined) return { status: 'error', ...blame(hook, snapshot) }
  const { condition } = plan.successCriteria ?? {}
  if (condition !== undefined) {
    const failure = unmet(judgeCondition(condition, buildScope({ ...scopeInput(input) })), 'The success criteria of the build')
    if (failure !== undefined) return { status: 'error', ...failure }
    if (!hasLists(plan.successCriteria)) return { status: 'success' }
  }
  const failed =
    roots.find((node) => isFatalFailure(node, input)) ?? nodes.find((node) => !node.isHook && isStrictFailure(node, input))
  return failed === undefined ? { status: 'success' } : { status: 'error', ...blame(failed, snapshot) }
}

/** Returns the outcome of a group once its steps are final. A plain group with `fail_fast: false` succeeds regardless of them. */
export function groupOutcome(
  group: Node,
  input: OutcomeInput,
): { readonly status: 'success' } | { readonly status: 'error'; readonly reason: Reason; readonly message: string } {
  const { condition } = group.step.successCriteria ?? {}
  const first = group.children.find((child) => isFatalFailure(child, input))
  const unelected = group.children.find((child) => failsElection(child, input))
  const failed = unelected ?? (condition === undefined || hasLists(group.step.successCriteria) ? first : undefined)
  if (failed !== undefined) {
    const isDenied = stateOf(input.snapshot, failed.name).reason === 'denied'
    return { status: 'error', reason: isDenied ? 'denied' : 'step-failed', message: `Step "${failed.name}" failed.` }
  }
  if (condition === undefined) return { status: 'success' }
  const scope = buildScope({ ...scopeInput(input), step: group.children[0]?.name })
  const failure = unmet(judgeCondition(condition, scope), `The success criteria of "${group.name}"`)
  return failure === undefined ? { status: 'success' } : { status: 'error', ...failure }
}

function unmet(verdict: Verdict, whose: string): { reason: Reason; message: string } | undefined {
  if (verdict.holds === 'yes') return undefined
  if (verdict.holds === 'broken') return { reason: 'condition-error', message: verdict.message }
  return { reason: 'step-failed', message: `${whose} are not met.` }
}

/** Returns true if `node` failed and its failure stops the siblings that have not started. */
export function isFatalFailure(node: Node, input: OutcomeInput): boolean {
  const { plan, snapshot } = input
  if (stateOf(snapshot, node.name).status !== 'error') return false
  return counts(node, plan) && flagAt(node, node.step.failFast, input)
}

/** Returns true if the on_elected hook of `node` failed in a way that keeps the step from running. */
export function failsElection(node: Node, input: OutcomeInput): boolean {
  const hook = hookOf(node.hooks, 'on_elected')
  if (hook === undefined || stateOf(input.snapshot, hook.name).status !== 'error') return false
  return flagAt(hook, hook.step.failFast, input)
}

/** Returns true for a failed on_elected hook of the build, or of a step outside hooks. Such a failure fails the whole build. */
export function failsBuild(node: Node, input: OutcomeInput): boolean {
  if (node.step.hook?.moment !== 'on_elected' || node.owner?.isHook === true) return false
  return stateOf(input.snapshot, node.name).status === 'error' && flagAt(node, node.step.failFast, input)
}

/**
 * Returns true for a failure that lets the build continue but fails it at the end. It does not count if a group around it or its criteria
 * ignore failures inside.
 */
function isStrictFailure(node: Node, input: OutcomeInput): boolean {
  const { plan, snapshot } = input
  if (stateOf(snapshot, node.name).status !== 'error' || flagAt(node, node.step.failFast, input)) return false
  if (!flagAt(node, node.step.strictFailFast, input) && !flagAt(node, plan.strictFailFast, input)) return false
  for (let at = node; ; at = at.parent) {
    if (!counts(at, plan)) return false
    if (at.parent === undefined) return true
    const { failFast, successCriteria } = at.parent.step
    if (!flagAt(at.parent, failFast, input) || successCriteria?.condition !== undefined) return false
  }
}

/** Returns false for a step that the success criteria of its group or of the build exclude. */
function counts(node: Node, plan: Plan): boolean {
  const criteria = node.parent === undefined ? plan.successCriteria : node.parent.step.successCriteria
  if (criteria === undefined || node.isHook !== (node.parent?.isHook ?? false)) return true
  const isListed = (names: readonly string[]): boolean =>
    names.includes(node.name) || (node.parent !== undefined && names.some((name) => node.name === `${node.parent?.name}.${name}`))
  return (criteria.only === undefined || isListed(criteria.only)) && !(criteria.ignore !== undefined && isListed(criteria.ignore))
}

function hasLists(criteria: SuccessCriteria | undefined): boolean {
  return criteria?.only !== undefined || criteria?.ignore !== undefined
}

/** Returns true for a group that succeeds regardless of its steps. */
export function forgives(group: Node, input: OutcomeInput): boolean {
  return typedOf(group.step) === undefined && !flagAt(group, group.step.failFast, input)
}

/** Returns the cause for the outcome. Infrastructure losses and denials keep their reason; every other failure becomes `step-failed`. */
function blame(node: Node, snapshot: Snapshot): Omit<Outcome, 'status'> {
  const { reason, message }: StepState = stateOf(snapshot, node.name)
  const own = reason !== undefined && (isInfra(reason) || reason === 'denied')
  return { reason: own ? reason : 'step-failed', step: node.name, ...(message !== undefined && { message }) }
}

function scopeInput({ plan, snapshot, context }: OutcomeInput) {
  return { plan, snapshot, builtins: context.builtins, secrets: context.secrets }
}

/**
 * Returns a flag as it was when the step started; later exports do not change it. Text that is not a boolean counts as true, the safe
 * default.
 */
function flagAt(node: Node, flag: FlagTemplate, input: OutcomeInput): boolean {
  if (typeof flag === 'boolean') return flag
  const { snapshot } = input
  const startedAt = stateOf(snapshot, node.name).startedAt ?? Infinity
  const exports = snapshot.exports.filter((exported) => exported.step !== node.name && (exported.at ?? -Infinity) <= startedAt)
  const scope = buildScope({ ...scopeInput({ ...input, snapshot: { ...snapshot, exports } }), step: node.name })
  return toFlag(substitute(flag, scope).text) ?? true
}
