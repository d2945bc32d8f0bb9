/**
 * The graph rules: from a plan and what is known of its steps, what happens next. A pure function that the engine calls after every fact.
 * docs/execution.md tells the rules to users. Here: the order of things. What a failure weighs is in `outcome.ts`, whether a `when` holds in
 * `condition.ts`, the outputs of typed steps in `outputs.ts`. Not here: running anything.
 */
import { judgeWhen } from './condition.ts'
import type { Verdict } from './condition.ts'
import type { Decision } from './decision.ts'
import { DocumentQueue } from './document-queue.ts'
import type { FinalStepStatus, Reason } from './lists.ts'
import { buildOutcome, failsElection, forgives, groupOutcome } from './outcome.ts'
import type { BuildContext, Outcome } from './outcome.ts'
import { typedOutputs } from './outputs.ts'
import type { Plan } from './plan.ts'
import { isStopped, rescueOf } from './rescue.ts'
import { matchesResult } from './results.ts'
import { nextTry } from './retry.ts'
import { RoundStates } from './round-states.ts'
import { belongings, hookOf, lineage } from './shape.ts'
import type { Node } from './shape.ts'
import type { Snapshot } from './snapshot.ts'

/**
 * What to do now. Empty while the build waits for running or waiting steps. A `when` is judged once, when the turn of its step comes; in root
 * parallel mode as often as needed. Takes time in proportion to the steps that are not final.
 */
export function decide(plan: Plan, snapshot: Snapshot, context: BuildContext = {}): Decision[] {
  return new Round(plan, snapshot, context).run()
}

/** One call of `decide`: decisions made so far are taken as done, and whoever they concern is considered again. */
class Round {
  readonly #decisions: Decision[] = []
  readonly #context: BuildContext
  readonly #states: RoundStates
  readonly #queue = new DocumentQueue()
  /** In root parallel mode: steps whose `when` does not hold yet. */
  readonly #patient = new Set<Node>()
  /** Those of them whose time will not come. */
  readonly #hopeless = new Set<Node>()
  readonly #isParallel: boolean

  constructor(plan: Plan, snapshot: Snapshot, context: BuildContext) {
    this.#context = context
    this.#states = new RoundStates(plan, snapshot, context)
    this.#isParallel = plan.mode === 'parallel'
  }

  run(): Decision[] {
    const { shape } = this.#states
    for (const node of shape.nodes) if (!this.#states.isFinal(node)) this.#queue.add(node)
    // Waits end before anything else, as what ran has ended.
    for (const node of shape.nodes) if (this.#states.of(node).status === 'waiting') this.#endWait(node)
    do {
      for (let node = this.#queue.next(shape); node !== undefined; node = this.#queue.next(shape)) this.#consider(node)
    } while (this.#giveUp())
    if (this.#states.openCount === 0) this.#decisions.push({ type: 'end', outcome: this.#outcome() })
    else this.#pause()
    return this.#decisions
  }

  #outcome(): Outcome {
    const { plan, snapshot, context } = this.#states.standing
    return buildOutcome(plan, snapshot, context)
  }

  #pause(): void {
    const { shape, moving } = this.#states
    if (this.#decisions.some(({ type }) => type === 'restart')) return
    const waiting = shape.nodes.filter((node) => this.#states.of(node).status === 'waiting')
    const isIdle = moving === waiting.length && waiting.every((node) => this.#states.of(node).reason === 'approval')
    if (isIdle && waiting.length > 0) this.#decisions.push({ type: 'pause', steps: waiting.map(({ name }) => name) })
  }

  #consider(node: Node): void {
    const { status } = this.#states.of(node)
    if (status === 'pending') {
      if (node.step.hook === undefined) this.#considerStep(node)
      else this.#considerHook(node)
    } else if (status === 'running' && node.isGroup) this.#close(node)
    else if (status === 'waiting') this.#endWait(node)
  }

  /** A cancel ends waits, also those for a person in clean-up: nobody approves of a build that is over. */
  #endWait(node: Node): void {
    const { cancelled } = this.#states
    if (cancelled === undefined || (this.#survives(node) && this.#states.of(node).reason !== 'approval')) return
    this.#finish(node, 'terminated', { reason: cancelled })
  }

  #considerStep(node: Node): void {
    const { parent } = node
    const states = this.#states
    if (parent !== undefined && states.isFinal(parent)) return this.#skip(node, states.of(parent).reason ?? 'not-reached')
    const elected = hookOf(node.hooks, 'on_elected')
    const election = elected === undefined ? 'pending' : states.of(elected).status
    if (election === 'running' || election === 'waiting' || !this.#hasTurn(node)) return
    if (!states.isSelected(node)) return this.#skip(node, 'not-selected')
    if (this.#context.forced === true) return this.#skip(node, states.cancelled ?? 'cancelled')
    if (elected !== undefined && election !== 'pending' && failsElection(node, states.standing)) return this.#unelect(node)
    const halt = this.#haltOf(node)
    if (halt !== undefined && !this.#mayStillRun(node)) return this.#skip(node, halt)
    if (election !== 'pending') return this.#start(node)
    if (this.#hopeless.has(node)) return this.#skip(node, halt ?? 'condition-false')
    const verdict = this.#judge(node)
    if (verdict.holds === 'broken') return this.#finish(node, 'error', { reason: 'condition-error', message: verdict.message })
    const holds = verdict.holds === 'yes' && (halt === undefined || node.asks || this.#isRescue(node))
    if (holds) {
      this.#patient.delete(node)
      if (elected === undefined) return this.#start(node)
      this.#open(elected)
      if (states.isFinal(elected)) this.#considerStep(node)
    } else if (this.#isPatient(node)) this.#patient.add(node)
    else this.#skip(node, halt ?? 'condition-false')
  }

  /** True when all that comes before is over. */
  #hasTurn(node: Node): boolean {
    const states = this.#states
    if (node.parent !== undefined && states.of(node.parent).status !== 'running') return false
    if (
      node.owner === undefined &&
      !states.shape.hooks.every((hook) => hook.step.hook?.moment !== 'on_elected' || states.isFinal(hook))
    )
      return false
    return states.isFirst(node) && node.step.after.every((name) => states.isSettledStep(name))
  }

  /** The step must not run, because its on_elected hook has failed. Inside hooks this is a failure like any other. */
  #unelect(node: Node): void {
    if (node.isHook)
      this.#finish(node, 'error', { reason: 'step-failed', message: `The on_elected hook of "${node.name}" failed.` })
    else this.#skip(node, 'not-reached')
  }

  /** A halt does not concern steps that ask for `workflow.result`, nor, in root parallel mode, those that a failed or finished step may let run. */
  #mayStillRun(node: Node): boolean {
    if (node.asks || this.#states.isRepeated(node)) return this.#states.cancelled === undefined || node.asks
    if (this.#states.cancelled !== undefined || this.#states.isExpired(node.parent)) return false
    return this.#isPatient(node) && rescueOf(node).length > 0
  }

  /** True when the `when` of the step holds because another one has failed or finished. */
  #isRescue(node: Node): boolean {
    if (this.#states.isRepeated(node)) return true
    return rescueOf(node).some(({ name, on }) => matchesResult(this.#states.seen(node, name), on))
  }

  #isPatient(node: Node): boolean {
    if (!this.#isParallel || node.isHook) return false
    for (let at = node.parent; at !== undefined; at = at.parent) {
      const { action } = at.step
      if (action.kind === 'group' && action.mode === 'serial') return false
    }
    return true
  }

  /** Why the step does not start any more. */
  #haltOf(node: Node): Reason | undefined {
    return this.#survives(node) ? this.#states.haltInside(node) : this.#states.haltOf(node)
  }

  /** True inside clean-up, which goes on after a cancel. */
  #survives(node: Node): boolean {
    if (this.#context.forced === true) return false
    return lineage(node).some((around) => around.step.hook?.moment === 'on_finish' || (around !== node && around.asks))
  }

  #judge(node: Node): Verdict {
    const { when } = node.step
    if (when === undefined) return { holds: 'yes' }
    return judgeWhen(when, { scope: this.#states.scopeOf(node), snapshot: this.#states.viewOf(node) })
  }

  #considerHook(hook: Node): void {
    const { moment } = hook.step.hook ?? {}
    const states = this.#states
    if (moment === 'on_elected') {
      if (hook.owner === undefined) {
        if (states.cancelled !== undefined) this.#skip(hook, states.cancelled)
        else if (states.isFirst(hook)) this.#open(hook)
      } else if (states.isFinal(hook.owner)) this.#skip(hook, states.of(hook.owner).reason ?? 'not-reached')
      return
    }
    if (!states.isOver(hook.owner)) return
    const siblings = hook.owner?.hooks ?? states.shape.hooks
    if (moment === 'on_finish' && !siblings.every((other) => other === hook || states.isWhole(other))) return
    const why = this.#whyNot(hook)
    if (why !== undefined) return this.#skip(hook, why)
    const isUnwanted = (other: Node): boolean => other.step.hook?.moment !== moment && other.step.hook?.moment !== 'on_finish'
    if (siblings.every((other) => !isUnwanted(other) || states.isWhole(other))) this.#open(hook)
  }

  /** Why a hook that comes after its step does not run. */
  #whyNot(hook: Node): Reason | undefined {
    const { owner } = hook
    const { cancelled } = this.#states
    const ended = owner === undefined ? this.#outcome() : this.#states.of(owner)
    if (ended.status === 'skipped' && !this.#wasElected(owner)) return ended.reason ?? 'not-reached'
    if (this.#context.forced === true) return cancelled ?? 'cancelled'
    if (hook.step.hook?.moment === 'on_finish') return undefined
    if (cancelled !== undefined && !(owner !== undefined && (owner.asks || this.#survives(owner)))) return cancelled
    const isWanted = ended.status === (hook.step.hook?.moment === 'on_success' ? 'success' : 'error')
    return isWanted ? undefined : 'condition-false'
  }

  /** True when the on_elected hook of a step has run, so that there may be something to clean up. */
  #wasElected(owner: Node | undefined): boolean {
    const hook = owner === undefined ? undefined : hookOf(owner.hooks, 'on_elected')
    return hook !== undefined && ['success', 'error', 'terminated'].includes(this.#states.of(hook).status)
  }

  /** Starts a hook, if its own `when` holds. */
  #open(hook: Node): void {
    const verdict = this.#judge(hook)
    if (verdict.holds === 'broken') this.#finish(hook, 'error', { reason: 'condition-error', message: verdict.message })
    else if (verdict.holds === 'yes') this.#start(hook)
    else this.#skip(hook, 'condition-false')
  }

  #close(group: Node): void {
    const states = this.#states
    if (!states.areSettledIn(group)) return
    const stopped = group.children.map((child) => states.of(child)).find((state) => isStopped(state, states.cancelled))
    if (stopped !== undefined) return this.#finish(group, 'terminated', { reason: stopped.reason ?? 'cancelled' })
    const isLate = this.#context.expired?.has(group.name) === true
    const ended = isLate
      ? ({ status: 'error', reason: 'timeout', message: `The time limit of "${group.name}" is over.` } as const)
      : groupOutcome(group, states.standing)
    if (ended.status === 'success') return this.#succeed(group)
    const again = nextTry(group.step, { ...ended, try: states.of(group).try })
    if (again !== undefined && states.cancelled === undefined) return this.#restart(group, again)
    if (forgives(group, states.standing)) this.#finish(group, 'success')
    else this.#finish(group, 'error', ended)
  }

  #succeed(group: Node): void {
    const { outputs, problem } = typedOutputs(group, this.#states.standing.snapshot)
    if (problem === undefined) this.#finish(group, 'success', outputs === undefined ? {} : { outputs })
    else this.#finish(group, 'error', { reason: 'invalid-step', message: problem })
  }

  #restart(group: Node, again: { try: number; delayMs: number }): void {
    const resets = belongings(group, { inside: true }).map(({ name }) => name)
    this.#decisions.push({ type: 'restart', step: group.name, ...again, resets })
  }

  #start(node: Node): void {
    this.#decisions.push({ type: 'start', step: node.name, try: 1 })
    this.#states.start(node)
    for (const inside of [node, ...node.children]) this.#queue.add(inside)
    this.#tellWatchers(node)
  }

  #skip(node: Node, reason: Reason): void {
    this.#finish(node, 'skipped', { reason })
  }

  #finish(node: Node, status: FinalStepStatus, told: Omit<Decision & { type: 'finish' }, 'type' | 'step' | 'status'> = {}): void {
    const { reason, message, outputs } = told
    this.#patient.delete(node)
    const known = {
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
      ...(outputs !== undefined && { outputs }),
    }
    this.#decisions.push({ type: 'finish', step: node.name, status, ...known })
    const change = this.#states.finish(node, { status, ...known })
    // A group that ends without having run takes all inside it along.
    for (const inside of node.isGroup ? belongings(node, { inside: true }) : [])
      if (!this.#states.isFinal(inside)) this.#skip(inside, reason ?? 'not-reached')
    for (const other of change === 'build' ? this.#states.shape.nodes : change === 'group' ? this.#states.beside(node) : [])
      if (!this.#states.isFinal(other)) this.#queue.add(other)
    this.#tellOthers(node)
  }

  /** Considers again all that the end of a step may concern. */
  #tellOthers(node: Node): void {
    const { shape } = this.#states
    const about = node.step.hook === undefined ? node : node.owner
    for (const hook of about?.hooks ?? shape.hooks) if (hook !== node) this.#queue.add(hook)
    if (about === undefined) for (const root of shape.roots) this.#queue.add(root)
    else {
      this.#queue.add(about)
      if (about.parent !== undefined) this.#tellGroup(about.parent)
      for (const follower of about.followers) this.#queue.add(follower)
      this.#tellWatchers(about)
      if (about.owner === undefined && this.#states.isOver(undefined)) for (const hook of shape.hooks) this.#queue.add(hook)
    }
    for (const held of this.#states.released()) this.#queue.add(held)
  }

  #tellGroup(group: Node): void {
    this.#queue.add(group)
    // One that was left out is over only when all inside it is.
    if (this.#states.isFinal(group) && this.#states.areSettledIn(group)) this.#tellOthers(group)
  }

  #tellWatchers(node: Node): void {
    for (const watcher of node.mentionedBy) this.#queue.add(watcher)
    for (const patient of this.#patient) if (patient.asks && this.#states.isNearEnd(patient)) this.#queue.add(patient)
  }

  /**
   * In parallel mode, once nothing moves any more: skips the steps whose time will not come. First those that wait for nobody who could
   * still change, because their being skipped may be what others wait for. True when any was skipped.
   */
  #giveUp(): boolean {
    if (this.#patient.size === 0 || this.#states.moving > 0 || this.#decisions.some(({ type }) => type === 'restart'))
      return false
    // Those that ask what the build ends as come last.
    const plain = [...this.#patient].filter(({ asks }) => !asks)
    const patient = plain.length > 0 ? plain : [...this.#patient]
    const hopeless = patient.filter((node) => !node.mentions.some((other) => this.#patient.has(other)))
    for (const node of hopeless.length > 0 ? hopeless : patient) {
      this.#hopeless.add(node)
      this.#queue.add(node)
    }
    return true
  }
}
