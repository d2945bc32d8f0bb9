/** What a build ends as, and what the failure of a step weighs (pipeline language 3.5 to 3.7). */
import { judgeCondition } from './condition.ts'
import type { Verdict } from './condition.ts'
import { stateOf } from './fold.ts'
import type { FinalBuildStatus, Reason } from './lists.ts'
import { isInfra } from './lists.ts'
import type { FlagTemplate, Plan, SuccessCriteria } from './plan.ts'
import { buildScope } from './scope.ts'
import { hookOf, shapeOf, typedOf } from './shape.ts'
import type { Node } from './shape.ts'
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
  /** Groups whose time is over: nothing more starts inside them, and they end in error. */
  readonly expired?: ReadonlySet<string> | undefined
}

export interface Outcome {
  readonly status: FinalBuildStatus
  readonly reason?: Reason
  /** The step that decided it. */
  readonly step?: string
  readonly message?: string
}

/** What is known of a build at one moment. */
export interface Standing {
  readonly plan: Plan
  readonly snapshot: Snapshot
  readonly context: BuildContext
}

/** What the build ends as when all its steps are final; earlier, what it would end as if it ended now. */
export function buildOutcome(plan: Plan, snapshot: Snapshot, context: BuildContext = {}): Outcome {
  if (context.cancelled !== undefined) return { status: 'terminated', reason: context.cancelled }
  const standing = { plan, snapshot, context }
  const { nodes, roots } = shapeOf(plan)
  const terminated = nodes.find((node) => !node.isHook && stateOf(snapshot, node.name).status === 'terminated')
  if (terminated !== undefined)
    return {
      status: 'terminated',
      reason: stateOf(snapshot, terminated.name).reason ?? 'cancelled',
      step: terminated.name,
    }
  const hook = nodes.find((node) => failsBuild(node, standing))
  if (hook !== undefined) return { status: 'error', ...blame(hook, snapshot) }
  const { condition } = plan.successCriteria ?? {}
  if (condition !== undefined) {
    const failure = unmet(judgeCondition(condition, buildScope({ ...scopeInput(standing) })), 'The success criteria of the build')
    if (failure !== undefined) return { status: 'error', ...failure }
    if (!hasLists(plan.successCriteria)) return { status: 'success' }
  }
  const failed =
    roots.find((node) => isFatalFailure(node, standing)) ?? nodes.find((node) => !node.isHook && isStrictFailure(node, standing))
  return failed === undefined ? { status: 'success' } : { status: 'error', ...blame(failed, snapshot) }
}

/** What a group ends as once its steps are final. A plain group with `fail_fast: false` counts as successful whatever they did. */
export function groupOutcome(
  group: Node,
  standing: Standing,
): { readonly status: 'success' } | { readonly status: 'error'; readonly reason: Reason; readonly message: string } {
  const { condition } = group.step.successCriteria ?? {}
  const first = group.children.find((child) => isFatalFailure(child, standing))
  const unelected = group.children.find((child) => failsElection(child, standing))
  const failed = unelected ?? (condition === undefined || hasLists(group.step.successCriteria) ? first : undefined)
  if (failed !== undefined) {
    const isDenied = stateOf(standing.snapshot, failed.name).reason === 'denied'
    return { status: 'error', reason: isDenied ? 'denied' : 'step-failed', message: `Step "${failed.name}" failed.` }
  }
  if (condition === undefined) return { status: 'success' }
  const scope = buildScope({ ...scopeInput(standing), step: group.children[0]?.name })
  const failure = unmet(judgeCondition(condition, scope), `The success criteria of "${group.name}"`)
  return failure === undefined ? { status: 'success' } : { status: 'error', ...failure }
}

function unmet(verdict: Verdict, whose: string): { reason: Reason; message: string } | undefined {
  if (verdict.holds === 'yes') return undefined
  if (verdict.holds === 'broken') return { reason: 'condition-error', message: verdict.message }
  return { reason: 'step-failed', message: `${whose} are not met.` }
}

/** True when `node` has failed, and its failure stops what has not started beside it. */
export function isFatalFailure(node: Node, standing: Standing): boolean {
  const { plan, snapshot } = standing
  if (stateOf(snapshot, node.name).status !== 'error') return false
  return counts(node, plan) && flagAt(node, node.step.failFast, standing)
}

/** True when the on_elected hook of `node` has failed so that the step must not run. */
export function failsElection(node: Node, standing: Standing): boolean {
  const hook = hookOf(node.hooks, 'on_elected')
  if (hook === undefined || stateOf(standing.snapshot, hook.name).status !== 'error') return false
  return flagAt(hook, hook.step.failFast, standing)
}

/** True for a failed on_elected hook of the build or of a step that is in no hook itself: it fails the whole build. */
export function failsBuild(node: Node, standing: Standing): boolean {
  if (node.step.hook?.moment !== 'on_elected' || node.owner?.isHook === true) return false
  return stateOf(standing.snapshot, node.name).status === 'error' && flagAt(node, node.step.failFast, standing)
}

/** A failure that lets the build go on and fails it at the end. Where a group or its criteria forgive the failures inside, it does not count. */
function isStrictFailure(node: Node, standing: Standing): boolean {
  const { plan, snapshot } = standing
  if (stateOf(snapshot, node.name).status !== 'error' || flagAt(node, node.step.failFast, standing)) return false
  if (!flagAt(node, node.step.strictFailFast, standing) && !flagAt(node, plan.strictFailFast, standing)) return false
  for (let at = node; ; at = at.parent) {
    if (!counts(at, plan)) return false
    if (at.parent === undefined) return true
    const { failFast, successCriteria } = at.parent.step
    if (!flagAt(at.parent, failFast, standing) || successCriteria?.condition !== undefined) return false
  }
}

/** False for a step that the success criteria of its group, or of the build, leave out. */
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

/** True for a group that counts as successful whatever its steps did. */
export function forgives(group: Node, standing: Standing): boolean {
  return typedOf(group.step) === undefined && !flagAt(group, group.step.failFast, standing)
}

/** A loss of infrastructure and a denial speak for themselves; every other failure is told as the failure of the step. */
function blame(node: Node, snapshot: Snapshot): Omit<Outcome, 'status'> {
  const { reason, message }: StepState = stateOf(snapshot, node.name)
  const own = reason !== undefined && (isInfra(reason) || reason === 'denied')
  return { reason: own ? reason : 'step-failed', step: node.name, ...(message !== undefined && { message }) }
}

function scopeInput({ plan, snapshot, context }: Standing) {
  return { plan, snapshot, builtins: context.builtins, secrets: context.secrets }
}

/**
 * A flag as it was when the step started: what steps export later does not change it. Text that is no boolean counts as true, the default
 * that loses nothing.
 */
function flagAt(node: Node, flag: FlagTemplate, standing: Standing): boolean {
  if (typeof flag === 'boolean') return flag
  const { snapshot } = standing
  const startedAt = stateOf(snapshot, node.name).startedAt ?? Infinity
  const exports = snapshot.exports.filter((exported) => exported.step !== node.name && (exported.at ?? -Infinity) <= startedAt)
  const scope = buildScope({ ...scopeInput({ ...standing, snapshot: { ...snapshot, exports } }), step: node.name })
  return toFlag(substitute(flag, scope).text) ?? true
}
