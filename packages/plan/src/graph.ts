/**
 * The graph rules: from a plan and what is known of its steps, what happens next. A pure function that the engine calls after every fact.
 * It covers serial order, groups, root parallel mode, conditions, fail-fast and cancellation. Not here: running anything.
 */
import { judgeWhen } from './condition.ts'
import type { Verdict } from './condition.ts'
import { stateOf } from './fold.ts'
import { isFinalStep, isInfra } from './lists.ts'
import type { FinalStepStatus, Reason } from './lists.ts'
import { buildOutcome, failureWeight } from './outcome.ts'
import type { BuildContext, Outcome } from './outcome.ts'
import type { Plan, PlanStep, Retry } from './plan.ts'
import { matchesResult } from './results.ts'
import { buildScope } from './scope.ts'
import type { Snapshot, StepState } from './snapshot.ts'

/** Decisions of one call belong together: carry all of them out, and fold their facts, before asking again. */
export type Decision =
  | { readonly type: 'start'; readonly step: string; readonly try: number }
  /** A step that ends without running: left out, not reached, its condition broken; a group whose steps have all ended; a wait that a cancel ends. */
  | {
      readonly type: 'finish'
      readonly step: string
      readonly status: FinalStepStatus
      readonly reason?: Reason
      readonly message?: string
    }
  | { readonly type: 'end'; readonly outcome: Outcome }

/**
 * What to do now. Empty while the build waits for running or waiting steps. Each condition of a serial plan is evaluated once, when the turn
 * of its step comes. Steps whose condition mentions `workflow.result` are judged even after a fatal failure or a cancel.
 */
export function decide(plan: Plan, snapshot: Snapshot, context: BuildContext = {}): Decision[] {
  const round = new Round(plan, snapshot, context)
  while (round.pass() || round.giveUp());
  if (round.isOver()) round.decisions.push({ type: 'end', outcome: buildOutcome(plan, round.snapshot, context) })
  return round.decisions
}

/** One call of `decide`: a working copy of the snapshot on which the decisions made so far are taken as done. */
class Round {
  readonly decisions: Decision[] = []
  readonly plan: Plan
  readonly context: BuildContext
  readonly steps: Record<string, StepState>
  readonly snapshot: Snapshot
  readonly children: ReadonlyMap<string, readonly PlanStep[]>
  private halt: Halt | undefined

  constructor(plan: Plan, snapshot: Snapshot, context: BuildContext) {
    this.plan = plan
    this.context = context
    this.steps = Object.fromEntries(plan.steps.map(({ name }) => [name, stateOf(snapshot, name)]))
    this.snapshot = { steps: this.steps, exports: snapshot.exports }
    this.children = Map.groupBy(
      plan.steps.filter(({ parent }) => parent !== undefined),
      ({ parent }) => parent ?? '',
    )
    this.halt = this.findHalt()
  }

  /** Considers every step once, in document order; true when anything was decided, so that others may have become ready. */
  pass(): boolean {
    const before = this.decisions.length
    for (const step of this.plan.steps) {
      const { status } = this.state(step.name)
      if (status === 'pending' && this.isReady(step)) this.consider(step)
      else if (status === 'running' && this.children.has(step.name)) this.closeGroup(step)
      else if (status === 'waiting' && this.context.cancelled !== undefined)
        this.finish(step, 'terminated', this.context.cancelled)
    }
    return this.decisions.length > before
  }

  isOver(): boolean {
    return this.plan.steps.every(({ name }) => this.isFinal(name))
  }

  /**
   * In parallel mode, once nothing moves any more: skips the steps whose time will not come. First those that wait for nobody who could
   * still change, because their being skipped may be what others wait for. True when any was skipped.
   */
  giveUp(): boolean {
    const pending = this.plan.steps.filter((step) => this.state(step.name).status === 'pending' && this.isReady(step))
    const moving = this.plan.steps.some(
      ({ name }) => ['running', 'waiting'].includes(this.state(name).status) && !this.children.has(name),
    )
    if (pending.length === 0 || moving) return false
    const hopeless = pending.filter((step) => !mayChange(step, pending))
    for (const step of hopeless.length > 0 ? hopeless : pending) this.skip(step, 'condition-false')
    return true
  }

  private state(name: string): StepState {
    return stateOf(this.snapshot, name)
  }

  private isFinal(name: string): boolean {
    return isFinalStep(this.state(name).status)
  }

  private isReady(step: PlanStep): boolean {
    const open = step.parent === undefined || this.state(step.parent).status === 'running' || this.isFinal(step.parent)
    return open && step.after.every((name) => this.isFinal(name))
  }

  private consider(step: PlanStep): void {
    if (step.parent !== undefined && this.isFinal(step.parent))
      return this.skip(step, this.state(step.parent).reason ?? 'not-reached')
    if (!this.isSelected(step)) return this.skip(step, 'not-selected')
    if (this.context.forced === true) return this.skip(step, this.context.cancelled ?? 'cancelled')
    const { halt } = this
    if (halt !== undefined && !this.mayRunAfter(step)) return this.skip(step, halt.reason)
    const verdict = this.judge(step)
    if (verdict.holds === 'yes') return this.start(step)
    if (verdict.holds === 'broken') return this.finish(step, 'error', 'condition-error', verdict.message)
    if (this.plan.mode === 'serial') this.skip(step, halt?.reason ?? 'condition-false')
  }

  private judge(step: PlanStep): Verdict {
    if (step.when === undefined) return { holds: 'yes' }
    const { plan, snapshot, context } = this
    const workflowResult = this.workflowResult(step)
    const scope = buildScope({ plan, snapshot, builtins: context.builtins, secrets: context.secrets, workflowResult })
    return judgeWhen(step.when, { scope, snapshot })
  }

  /**
   * `workflow.result` as a step sees it: how the build has ended, if it is ending. Steps at the end that all ask for it see what the build
   * ends as without them; any other step sees `running`.
   */
  private workflowResult(step: PlanStep): string {
    if (this.halt !== undefined) return this.halt.result
    const isLast = this.plan.steps.every(
      (other) => other === step || this.isFinal(other.name) || asksForWorkflow(other) || this.holds(other, step),
    )
    if (!isLast) return 'running'
    return buildOutcome(this.plan, this.snapshot, this.context).status === 'success' ? 'success' : 'failure'
  }

  /** True when `group` is around `step`. */
  private holds(group: PlanStep, step: PlanStep): boolean {
    for (let name = step.parent; name !== undefined; name = this.plan.steps.find((other) => other.name === name)?.parent) {
      if (name === group.name) return true
    }
    return false
  }

  private mayRunAfter(step: PlanStep): boolean {
    if (asksForWorkflow(step)) return true
    if (this.plan.mode === 'serial' || this.context.cancelled !== undefined) return false
    const asked = step.when?.steps?.of ?? []
    return asked.some(
      ({ name, on }) => ['error', 'terminated'].includes(this.state(name).status) && matchesResult(this.state(name), on),
    )
  }

  private isSelected(step: PlanStep): boolean {
    const { only, skip } = this.context
    const family = this.familyOf(step)
    if (skip !== undefined && family.ancestors.some((name) => skip.includes(name))) return false
    return only === undefined || only.length === 0 || family.all.some((name) => only.includes(name))
  }

  /** The step with the groups around it, and these with all steps inside it. */
  private familyOf(step: PlanStep): { ancestors: string[]; all: string[] } {
    const ancestors = [step.name, ...this.plan.steps.filter((other) => this.holds(other, step)).map(({ name }) => name)]
    const inside = this.plan.steps.filter((other) => this.holds(step, other)).map(({ name }) => name)
    return { ancestors, all: [...ancestors, ...inside] }
  }

  private closeGroup(group: PlanStep): void {
    const children = this.children.get(group.name) ?? []
    if (!children.every(({ name }) => this.isFinal(name))) return
    const failed = children.find((child) => this.state(child.name).status === 'error' && failureWeight(child, this) === 'fatal')
    if (failed === undefined) this.finish(group, 'success')
    else this.finish(group, 'error', 'step-failed', `Step "${failed.name}" failed.`)
  }

  private start(step: PlanStep): void {
    this.decisions.push({ type: 'start', step: step.name, try: 1 })
    this.steps[step.name] = { ...this.state(step.name), status: 'running', try: 1 }
  }

  private skip(step: PlanStep, reason: Reason): void {
    this.finish(step, 'skipped', reason)
  }

  private finish(step: PlanStep, status: FinalStepStatus, reason?: Reason, message?: string): void {
    const told = { ...(reason !== undefined && { reason }), ...(message !== undefined && { message }) }
    this.decisions.push({ type: 'finish', step: step.name, status, ...told })
    this.steps[step.name] = { ...this.state(step.name), status, ...told }
    if (status === 'error') this.halt = this.findHalt()
  }

  private findHalt(): Halt | undefined {
    if (this.context.cancelled !== undefined) return { result: 'terminated', reason: this.context.cancelled }
    const roots = this.plan.steps.filter(({ parent }) => parent === undefined)
    const ended = roots.find(({ name }) => this.state(name).status === 'terminated')
    if (ended !== undefined) return { result: 'terminated', reason: this.state(ended.name).reason ?? 'cancelled' }
    const failed = roots.some((step) => this.state(step.name).status === 'error' && failureWeight(step, this) === 'fatal')
    return failed ? { result: 'failure', reason: 'not-reached' } : undefined
  }
}

/** Why no further step is started, and what `workflow.result` says then. */
interface Halt {
  readonly result: 'failure' | 'terminated'
  readonly reason: Reason
}

function asksForWorkflow(step: PlanStep): boolean {
  const condition = step.when?.condition
  const texts = [...Object.values(condition?.all ?? {}), ...Object.values(condition?.any ?? {})]
  return texts.some((text) => /\bworkflow\s*\.\s*result\b/.test(text))
}

/** True while one of `pending` is mentioned by the step's `when`: what becomes of it may still make the `when` hold. */
function mayChange(step: PlanStep, pending: readonly PlanStep[]): boolean {
  const asked = new Set(step.when?.steps?.of.map(({ name }) => name))
  const condition = step.when?.condition
  const text = [...Object.values(condition?.all ?? {}), ...Object.values(condition?.any ?? {})].join('\n')
  return pending.some((other) => other !== step && (asked.has(other.name) || text.includes(other.name)))
}

/** The longest pause between two tries, whatever the factor makes of it. */
export const LONGEST_RETRY_DELAY_MS = 600_000

/** Failures that the same step would meet again in the same place, whatever the number of tries. */
const HOPELESS: readonly Reason[] = ['condition-error', 'denied', 'integration-missing', 'invalid-step', 'mount-invalid']

/**
 * Whether a try that ended is repeated, and after what pause (pipeline language 3.8: each pause is the one before, in seconds, to the power of
 * the factor; at most ten minutes). Only failures are; a loss of infrastructure is repeated as a new attempt, not here.
 */
export function nextTry(
  step: { readonly retry: Retry },
  ended: Pick<StepState, 'status' | 'reason' | 'try'>,
): { try: number; delayMs: number } | undefined {
  const { maxAttempts, delayMs, factor } = step.retry
  if (ended.status !== 'error' || ended.try >= maxAttempts) return undefined
  if (ended.reason !== undefined && (HOPELESS.includes(ended.reason) || isInfra(ended.reason))) return undefined
  let seconds = delayMs / 1_000
  for (let done = 1; done < ended.try && seconds * 1_000 < LONGEST_RETRY_DELAY_MS; done += 1) seconds **= factor
  return { try: ended.try + 1, delayMs: Math.min(Math.round(seconds * 1_000), LONGEST_RETRY_DELAY_MS) }
}
