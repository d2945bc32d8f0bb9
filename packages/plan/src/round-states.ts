/** What is known of the steps during one call of `decide`: the snapshot, and on top of it what was decided so far. */
import { stateOf } from './fold.ts'
import { isFinalStep } from './lists.ts'
import type { Reason } from './lists.ts'
import { buildOutcome, failsBuild, isFatalFailure } from './outcome.ts'
import type { BuildContext, Standing } from './outcome.ts'
import type { Plan } from './plan.ts'
import { scopesOf } from './scope.ts'
import type { BuildScope, ScopePlace } from './scope.ts'
import { selectedSteps } from './selection.ts'
import { enclosing, findNear, lineage, shapeOf } from './shape.ts'
import type { Node, Shape } from './shape.ts'
import type { Snapshot, StepState } from './snapshot.ts'

/** Whom the end of a step concerns beside those that wait for it: all of the build, all of its group, or nobody. */
export type Reach = 'build' | 'group' | 'none'

export class RoundStates {
  readonly shape: Shape
  readonly standing: Standing
  /** How many steps are not final, and how many of those that run containers or wait are at it. */
  openCount = 0
  moving = 0
  /** Why the build is being stopped: it was asked to, or a step was terminated. */
  cancelled: Reason | undefined
  readonly #steps: Record<string, StepState> = Object.create(null)
  /** The same for steps that come later: one whose hooks are not over yet still runs. */
  readonly #seen: Record<string, StepState>
  readonly #scopes: { own: (place: ScopePlace) => BuildScope; others: (place: ScopePlace) => BuildScope }
  readonly #selected: ReadonlySet<Node> | undefined
  /** Groups (the root: undefined) in which nothing starts any more. */
  readonly #halts = new Map<Node | undefined, Reason>()
  /** How many members of a group, from the front, are known to be settled. */
  readonly #settledUpTo = new Map<Node | undefined, number>()
  readonly #expired = new Set<Node>()
  readonly #repeated: ReadonlySet<Node>
  readonly #held: Set<Node>
  #isReleased = false
  /** Steps of the build itself that are not final and do not ask for `workflow.result`. */
  #plain: Set<Node> | undefined

  constructor(plan: Plan, snapshot: Snapshot, context: BuildContext) {
    this.shape = shapeOf(plan)
    const isLayered = plan.mode === 'parallel' && this.shape.nodes.some(({ hooks }) => hooks.length > 0)
    this.#seen = isLayered ? Object.create(null) : this.#steps
    for (const { name } of this.shape.nodes) this.#steps[name] = stateOf(snapshot, name)
    const exports = snapshot.exports
    this.standing = { plan, snapshot: { ...snapshot, steps: this.#steps }, context }
    const input = { plan, builtins: context.builtins, secrets: context.secrets }
    const own = scopesOf({ ...input, snapshot: { steps: this.#steps, exports } })
    this.#scopes = { own, others: isLayered ? scopesOf({ ...input, snapshot: { steps: this.#seen, exports } }) : own }
    this.#selected = selectedSteps(this.shape, context)
    this.cancelled = context.cancelled
    const repeated = (snapshot.first ?? []).flatMap((name) => this.shape.byName.get(name) ?? [])
    this.#repeated = new Set(repeated)
    this.#held = new Set(repeated.filter((node) => !this.isSettled(node)))
    for (const node of this.shape.nodes) this.#take(node)
    for (const name of context.expired ?? []) this.#expire(this.shape.byName.get(name))
  }

  #expire(group: Node | undefined): void {
    if (group === undefined || this.of(group).status !== 'running' || !group.isGroup) return
    this.#expired.add(group)
    for (const child of group.children) if (!child.asks) this.#expire(child)
  }

  /** True for a group whose time is over, and for those inside it that are no clean-up. */
  isExpired(group: Node | undefined): boolean {
    return group !== undefined && this.#expired.has(group)
  }

  #take(node: Node): void {
    const { status } = this.of(node)
    if (isFinalStep(status)) this.#note(node)
    else this.openCount += 1
    if (!node.isGroup && (status === 'running' || status === 'waiting')) this.moving += 1
    this.#show(node)
  }

  of(node: Node): StepState {
    return this.#steps[node.name] ?? stateOf(this.standing.snapshot, node.name)
  }

  isFinal(node: Node): boolean {
    return isFinalStep(this.of(node).status)
  }

  /** True when the step, all inside it, and its hooks are final. */
  isSettled(node: Node): boolean {
    return this.isWhole(node) && node.hooks.every((hook) => this.isWhole(hook))
  }

  /** True when the step and all inside it are final. */
  isWhole(node: Node): boolean {
    return this.isFinal(node) && (node.children.length === 0 || this.areSettledIn(node))
  }

  isSettledStep(name: string): boolean {
    const node = this.shape.byName.get(name)
    return node === undefined || this.isSettled(node)
  }

  /** True when all members of a group, or all root steps, are settled. */
  areSettledIn(group: Node | undefined): boolean {
    const members = group === undefined ? this.shape.roots : group.children
    let at = this.#settledUpTo.get(group) ?? 0
    for (let member = members[at]; member !== undefined && this.isSettled(member); member = members[at]) at += 1
    this.#settledUpTo.set(group, at)
    return at === members.length
  }

  /** True when the hooks that come after a step, or after the build, may run. */
  isOver(owner: Node | undefined): boolean {
    return owner === undefined ? this.areSettledIn(undefined) : this.isFinal(owner)
  }

  isSelected(node: Node): boolean {
    return this.#selected === undefined || this.#selected.has(node)
  }

  /** True for a step that a resumed build runs again before it goes on. */
  isRepeated(node: Node): boolean {
    return this.#repeated.has(node)
  }

  /** False while steps that have to be repeated first are not over and this is none of them. */
  isFirst(node: Node): boolean {
    return this.#held.size === 0 || [...this.#held].some((held) => lineage(held).includes(node))
  }

  /** The steps that were held until now, told once. */
  released(): readonly Node[] {
    if (!this.#isReleased) return []
    this.#isReleased = false
    return this.shape.nodes.filter((node) => !this.isFinal(node))
  }

  /** Why a step that has not started does not start any more. */
  haltOf(node: Node): Reason | undefined {
    return this.cancelled ?? this.haltInside(node)
  }

  /** The same for clean-up, which a cancel does not stop: only a failure in its own group does. */
  haltInside(node: Node): Reason | undefined {
    return this.#halts.get(node.parent) ?? (this.isExpired(node.parent) ? 'not-reached' : undefined)
  }

  /** The steps of the same group. */
  beside(node: Node): readonly Node[] {
    return node.parent === undefined ? this.shape.roots : node.parent.children
  }

  start(node: Node): void {
    const isApproval = node.step.action.kind === 'pending-approval'
    const state = isApproval ? ({ status: 'waiting', reason: 'approval' } as const) : ({ status: 'running' } as const)
    this.#steps[node.name] = { ...this.of(node), ...state, try: 1 }
    if (!node.isGroup) this.moving += 1
    this.#show(node)
  }

  finish(node: Node, ended: Pick<StepState, 'status' | 'reason' | 'message'> & { outputs?: StepState['output'] }): Reach {
    const { outputs, ...state } = ended
    const before = this.of(node)
    if (!node.isGroup && before.status !== 'pending') this.moving -= 1
    this.#steps[node.name] = { ...before, ...state, ...(outputs !== undefined && { output: outputs }) }
    this.openCount -= 1
    this.#plain?.delete(node)
    this.#show(node)
    const about = node.step.hook === undefined ? node : node.owner
    if (about !== undefined && this.#held.has(about) && this.isSettled(about)) {
      this.#held.delete(about)
      this.#isReleased = this.#held.size === 0
    }
    return this.#note(node)
  }

  /** Takes in what the end of a step means for others. */
  #note(node: Node): Reach {
    const { status, reason } = this.of(node)
    if (node.step.hook !== undefined) return this.#noteHook(node)
    if (status === 'terminated') {
      const reach = this.#halt(node.parent, reason ?? 'cancelled')
      if (node.isHook || this.cancelled !== undefined) return reach
      this.cancelled = reason ?? 'cancelled'
      return 'build'
    }
    return status === 'error' && isFatalFailure(node, this.standing) ? this.#halt(node.parent, 'not-reached') : 'none'
  }

  #noteHook(hook: Node): Reach {
    const { status, reason } = this.of(hook)
    if (hook.step.hook?.moment !== 'on_elected' || hook.owner?.isHook === true) return 'none'
    if (status === 'terminated' && this.cancelled === undefined) {
      this.cancelled = reason ?? 'cancelled'
      return 'build'
    }
    if (!failsBuild(hook, this.standing)) return 'none'
    if (hook.owner !== undefined) this.#halt(hook.owner.parent, 'not-reached')
    this.#halt(undefined, 'not-reached')
    return 'build'
  }

  #halt(group: Node | undefined, reason: Reason): Reach {
    if (this.#halts.has(group)) return 'none'
    this.#halts.set(group, reason)
    return group === undefined ? 'build' : 'group'
  }

  #show(node: Node): void {
    if (this.#seen === this.#steps) return
    for (const one of lineage(node)) {
      const state = this.of(one)
      this.#seen[one.name] = this.isFinal(one) && !this.isSettled(one) ? { ...state, status: 'running' } : state
    }
  }

  /** The steps as `node` sees them. */
  viewOf(node: Node): Snapshot {
    return node.isHook ? this.standing.snapshot : { steps: this.#seen, exports: this.standing.snapshot.exports }
  }

  /** What a step that is named in the `when` of `node` is doing. */
  seen(node: Node, name: string): StepState {
    return stateOf(this.viewOf(node), findNear(node, name, this.shape.byName)?.name ?? name)
  }

  scopeOf(node: Node): BuildScope {
    const scopes = node.isHook ? this.#scopes.own : this.#scopes.others
    return scopes({ step: node.name, workflowResult: node.asks ? this.workflowResultOf(node) : 'running' })
  }

  /**
   * `workflow.result` as a step sees it: how the build has ended, if it is ending. Steps at the end that all ask for it see what the build
   * ends as without them, hooks at its end what it ends as; any other step sees `running`.
   */
  workflowResultOf(node: Node): string {
    if (this.cancelled !== undefined) return 'terminated'
    const isHalted = [undefined, ...enclosing(node)].some((group) => this.#halts.has(group) || this.isExpired(group))
    if (isHalted) return 'failure'
    if (!this.isNearEnd(node)) return 'running'
    const { plan, snapshot, context } = this.standing
    return buildOutcome(plan, snapshot, context).status === 'success' ? 'success' : 'failure'
  }

  /** True when nothing but `node`, the groups around it and other steps that ask for `workflow.result` is left. */
  isNearEnd(node: Node): boolean {
    this.#plain ??= new Set(
      this.shape.nodes.filter((one) => !one.isHook && !this.isFinal(one) && !lineage(one).some(({ asks }) => asks)),
    )
    const own = lineage(node)
    return this.#plain.size <= own.length && [...this.#plain].every((one) => own.includes(one))
  }
}
