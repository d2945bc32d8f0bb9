/** The state of all steps during one call of `decide`: the snapshot plus the decisions made so far. */
import { kindOf } from '../actions/index.ts'
import { stateOf } from '../state/fold.ts'
import { isFinalStep } from '../lists.ts'
import type { Reason } from '../lists.ts'
import { buildOutcome, failsBuild, isFatalFailure } from './outcome.ts'
import type { BuildContext, OutcomeInput } from './outcome.ts'
import type { Plan } from '../plan.ts'
import { scopesOf } from '../expression/scope.ts'
import type { BuildScope } from '../expression/build-scope.ts'
import type { ScopePlace } from '../expression/scope.ts'
import { selectedSteps } from './selection.ts'
import { enclosing, findNear, lineage, shapeOf } from './shape.ts'
import type { Node, Shape } from './shape.ts'
import type { Snapshot, StepState } from '../state/snapshot.ts'

/** Which other steps the end of a step affects, besides those that wait for it: the whole build, its group, or none. */
export type Reach = 'build' | 'group' | 'none'

export class RoundStates {
  readonly shape: Shape
  readonly input: OutcomeInput
  /** Number of steps that are not final. */
  openCount = 0
  /** Number of steps, without groups, that are running or waiting. */
  moving = 0
  /** Why the build is being stopped: a request, or a terminated step. */
  cancelled: Reason | undefined
  readonly #steps: Record<string, StepState> = Object.create(null)
  /** The states as later steps see them: a step whose hooks are not over yet still counts as running. */
  readonly #seen: Record<string, StepState>
  readonly #scopes: { own: (place: ScopePlace) => BuildScope; others: (place: ScopePlace) => BuildScope }
  readonly #selected: ReadonlySet<Node> | undefined
  /** Groups (undefined: the root) in which nothing starts any more. */
  readonly #halts = new Map<Node | undefined, Reason>()
  /** For each group, the number of leading members that are known to be settled. */
  readonly #settledUpTo = new Map<Node | undefined, number>()
  readonly #expired = new Set<Node>()
  readonly #repeated: ReadonlySet<Node>
  readonly #held: Set<Node>
  #isReleased = false
  /** Steps outside hooks that are not final and do not read `workflow.result`. */
  #plain: Set<Node> | undefined

  constructor(plan: Plan, snapshot: Snapshot, context: BuildContext) {
    this.shape = shapeOf(plan)
    const isLayered = plan.mode === 'parallel' && this.shape.nodes.some(({ hooks }) => hooks.length > 0)
    this.#seen = isLayered ? Object.create(null) : this.#steps
    for (const { name } of this.shape.nodes) this.#steps[name] = stateOf(snapshot, name)
    const exports = snapshot.exports
    this.input = { plan, snapshot: { ...snapshot, steps: this.#steps }, context }
    const scopeInput = { plan, builtins: context.builtins, secrets: context.secrets }
    const own = scopesOf({ ...scopeInput, snapshot: { steps: this.#steps, exports } })
    this.#scopes = { own, others: isLayered ? scopesOf({ ...scopeInput, snapshot: { steps: this.#seen, exports } }) : own }
    this.#selected = selectedSteps(this.shape, context)
    this.cancelled = context.cancelled
    const repeated = (snapshot.first ?? []).flatMap((name) => this.shape.byName.get(name) ?? [])
    this.#repeated = new Set(repeated)
    this.#held = new Set(repeated.filter((node) => !this.isSettled(node)))
    for (const node of this.shape.nodes) this.#register(node)
    for (const name of context.expired ?? []) this.#expire(this.shape.byName.get(name))
  }

  #expire(group: Node | undefined): void {
    if (group === undefined || this.of(group).status !== 'running' || !group.isGroup) return
    this.#expired.add(group)
    for (const child of group.children) if (!child.readsResult) this.#expire(child)
  }

  /** Returns true for a group that reached its time limit, and for the groups inside it except clean-up. */
  isExpired(group: Node | undefined): boolean {
    return group !== undefined && this.#expired.has(group)
  }

  #register(node: Node): void {
    const { status } = this.of(node)
    if (isFinalStep(status)) this.#applyEnd(node)
    else this.openCount += 1
    if (!node.isGroup && (status === 'running' || status === 'waiting')) this.moving += 1
    this.#updateView(node)
  }

  of(node: Node): StepState {
    return this.#steps[node.name] ?? stateOf(this.input.snapshot, node.name)
  }

  isFinal(node: Node): boolean {
    return isFinalStep(this.of(node).status)
  }

  /** Returns true if the step, everything inside it and its hooks are final. */
  isSettled(node: Node): boolean {
    return this.isComplete(node) && node.hooks.every((hook) => this.isComplete(hook))
  }

  /** Returns true if the step and everything inside it are final. */
  isComplete(node: Node): boolean {
    return this.isFinal(node) && (node.children.length === 0 || this.areSettledIn(node))
  }

  isSettledStep(name: string): boolean {
    const node = this.shape.byName.get(name)
    return node === undefined || this.isSettled(node)
  }

  /** Returns true if all members of a group, or all root steps, are settled. */
  areSettledIn(group: Node | undefined): boolean {
    const members = group === undefined ? this.shape.roots : group.children
    let at = this.#settledUpTo.get(group) ?? 0
    for (let member = members[at]; member !== undefined && this.isSettled(member); member = members[at]) at += 1
    this.#settledUpTo.set(group, at)
    return at === members.length
  }

  /** Returns true if the hooks after a step, or after the build, may run. */
  isOver(owner: Node | undefined): boolean {
    return owner === undefined ? this.areSettledIn(undefined) : this.isFinal(owner)
  }

  isSelected(node: Node): boolean {
    return this.#selected === undefined || this.#selected.has(node)
  }

  /** Returns true for a step that a resumed build runs again before it continues. */
  isRepeated(node: Node): boolean {
    return this.#repeated.has(node)
  }

  /** Returns false while steps that must be repeated first are not over and this is not one of them. */
  isFirst(node: Node): boolean {
    return this.#held.size === 0 || [...this.#held].some((held) => lineage(held).includes(node))
  }

  /** Returns the steps that were held back until now. Returns them only once. */
  released(): readonly Node[] {
    if (!this.#isReleased) return []
    this.#isReleased = false
    return this.shape.nodes.filter((node) => !this.isFinal(node))
  }

  /** Returns the reason why a step that has not started can no longer start. */
  haltOf(node: Node): Reason | undefined {
    return this.cancelled ?? this.haltInside(node)
  }

  /** Like `haltOf` for clean-up, which only a failure in its own group stops; a cancel does not. */
  haltInside(node: Node): Reason | undefined {
    return this.#halts.get(node.parent) ?? (this.isExpired(node.parent) ? 'not-reached' : undefined)
  }

  /** Returns the steps of the same group. */
  siblingsOf(node: Node): readonly Node[] {
    return node.parent === undefined ? this.shape.roots : node.parent.children
  }

  start(node: Node): void {
    const isDecision = kindOf(node.step.action).performedBy === 'user'
    const state = isDecision ? ({ status: 'waiting', reason: 'approval' } as const) : ({ status: 'running' } as const)
    this.#steps[node.name] = { ...this.of(node), ...state, try: 1 }
    if (!node.isGroup) this.moving += 1
    this.#updateView(node)
  }

  finish(node: Node, ended: Pick<StepState, 'status' | 'reason' | 'message'> & { outputs?: StepState['output'] }): Reach {
    const { outputs, ...state } = ended
    const before = this.of(node)
    if (!node.isGroup && before.status !== 'pending') this.moving -= 1
    this.#steps[node.name] = { ...before, ...state, ...(outputs !== undefined && { output: outputs }) }
    this.openCount -= 1
    this.#plain?.delete(node)
    this.#updateView(node)
    const about = node.step.hook === undefined ? node : node.owner
    if (about !== undefined && this.#held.has(about) && this.isSettled(about)) {
      this.#held.delete(about)
      this.#isReleased = this.#held.size === 0
    }
    return this.#applyEnd(node)
  }

  /** Applies the effects of an ended step on other steps. */
  #applyEnd(node: Node): Reach {
    const { status, reason } = this.of(node)
    if (node.step.hook !== undefined) return this.#applyHookEnd(node)
    if (status === 'terminated') {
      const reach = this.#halt(node.parent, reason ?? 'cancelled')
      if (node.isHook || this.cancelled !== undefined) return reach
      this.cancelled = reason ?? 'cancelled'
      return 'build'
    }
    return status === 'error' && isFatalFailure(node, this.input) ? this.#halt(node.parent, 'not-reached') : 'none'
  }

  #applyHookEnd(hook: Node): Reach {
    const { status, reason } = this.of(hook)
    if (hook.step.hook?.moment !== 'on_elected' || hook.owner?.isHook === true) return 'none'
    if (status === 'terminated' && this.cancelled === undefined) {
      this.cancelled = reason ?? 'cancelled'
      return 'build'
    }
    if (!failsBuild(hook, this.input)) return 'none'
    if (hook.owner !== undefined) this.#halt(hook.owner.parent, 'not-reached')
    this.#halt(undefined, 'not-reached')
    return 'build'
  }

  #halt(group: Node | undefined, reason: Reason): Reach {
    if (this.#halts.has(group)) return 'none'
    this.#halts.set(group, reason)
    return group === undefined ? 'build' : 'group'
  }

  #updateView(node: Node): void {
    if (this.#seen === this.#steps) return
    for (const one of lineage(node)) {
      const state = this.of(one)
      this.#seen[one.name] = this.isFinal(one) && !this.isSettled(one) ? { ...state, status: 'running' } : state
    }
  }

  /** Returns the steps as `node` sees them. */
  viewOf(node: Node): Snapshot {
    return node.isHook ? this.input.snapshot : { steps: this.#seen, exports: this.input.snapshot.exports }
  }

  /** Returns the state of a step that is named in the `when` of `node`. */
  stateSeenBy(node: Node, name: string): StepState {
    return stateOf(this.viewOf(node), findNear(node, name, this.shape.byName)?.name ?? name)
  }

  scopeOf(node: Node): BuildScope {
    const scopes = node.isHook ? this.#scopes.own : this.#scopes.others
    return scopes({ step: node.name, workflowResult: node.readsResult ? this.workflowResultOf(node) : 'running' })
  }

  /**
   * Returns `workflow.result` as a step sees it: the outcome of the build if it is ending. Steps that read it at the end see the outcome without
   * themselves; hooks at the end of the build see its outcome; every other step sees `running`.
   */
  workflowResultOf(node: Node): string {
    if (this.cancelled !== undefined) return 'terminated'
    const isHalted = [undefined, ...enclosing(node)].some((group) => this.#halts.has(group) || this.isExpired(group))
    if (isHalted) return 'failure'
    if (!this.isNearEnd(node)) return 'running'
    const { plan, snapshot, context } = this.input
    return buildOutcome(plan, snapshot, context).status === 'success' ? 'success' : 'failure'
  }

  /** Returns true if only `node`, the groups around it and other steps that read `workflow.result` are left. */
  isNearEnd(node: Node): boolean {
    this.#plain ??= new Set(
      this.shape.nodes.filter((one) => !one.isHook && !this.isFinal(one) && !lineage(one).some(({ readsResult }) => readsResult)),
    )
    const own = lineage(node)
    return this.#plain.size <= own.length && [...this.#plain].every((one) => own.includes(one))
  }
}
