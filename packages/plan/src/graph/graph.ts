/**
 * The scheduling rules: decides what happens next, from a plan and the state of its steps. A pure function that the engine calls after every
 * fact. docs/guides/execution.md explains the rules to users. This file holds the order of execution; the effects of failures are in `outcome.ts`,
 * `when` in `condition.ts`, and the outputs of typed steps in `outputs.ts`.
 */
import { judgeWhen } from '../expression/condition.ts'
import type { Verdict } from '../expression/condition.ts'
import type { Decision } from './decision.ts'
import { DocumentQueue } from './document-queue.ts'
import type { FinalStepStatus, Reason } from '../lists.ts'
import { buildOutcome, failsElection, forgives, groupOutcome } from './outcome.ts'
import type { BuildContext, Outcome } from './outcome.ts'
import { typedOutputs } from '../resolve/outputs.ts'
import type { Plan } from '../plan.ts'
import { isStopped, failureConditionsOf } from './failure-conditions.ts'
import { matchesResult } from '../state/results.ts'
import { nextTry } from './retry.ts'
import { RoundStates } from './round-states.ts'
import { belongings, hookOf, lineage } from './shape.ts'
import type { Node } from './shape.ts'
import type { Snapshot } from '../state/snapshot.ts'

/**
 * Returns the next decisions; empty while the build waits for running or waiting steps. A `when` is evaluated once, when the turn of its step
 * comes, but repeatedly in root parallel mode. Takes time linear in the number of steps that are not final.
 */
export function decide(plan: Plan, snapshot: Snapshot, context: BuildContext = {}): Decision[] {
  return new Round(plan, snapshot, context).run()
}

/** One call of `decide`. A decision counts as carried out at once, and every step that it affects is considered again. */
class Round {
  readonly #decisions: Decision[] = []
  readonly #context: BuildContext
  readonly #states: RoundStates
  readonly #queue = new DocumentQueue()
  /** In root parallel mode: steps whose `when` does not hold yet. */
  readonly #deferred = new Set<Node>()
  /** Deferred steps whose `when` can no longer hold. */
  readonly #unreachable = new Set<Node>()
  readonly #isParallel: boolean

  constructor(plan: Plan, snapshot: Snapshot, context: BuildContext) {
    this.#context = context
    this.#states = new RoundStates(plan, snapshot, context)
    this.#isParallel = plan.mode === 'parallel'
  }

  run(): Decision[] {
    const { shape } = this.#states
    for (const node of shape.nodes) if (!this.#states.isFinal(node)) this.#queue.add(node)
    // Waits end first, because the running steps have ended already.
    for (const node of shape.nodes) if (this.#states.of(node).status === 'waiting') this.#endWait(node)
    do {
      for (let node = this.#queue.next(shape); node !== undefined; node = this.#queue.next(shape)) this.#consider(node)
    } while (this.#skipDeferred())
    if (this.#states.openCount === 0) this.#decisions.push({ type: 'end', outcome: this.#outcome() })
    else this.#pause()
    return this.#decisions
  }

  #outcome(): Outcome {
    const { plan, snapshot, context } = this.#states.input
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

  /**
   * Ends the wait for an approval after a cancel, even in clean-up, because nobody approves a canceled build. A step that the debugger holds is running:
   * the engine stops it and reports its end after its log.
   */
  #endWait(node: Node): void {
    const { cancelled } = this.#states
    if (cancelled === undefined || this.#states.of(node).reason !== 'approval') return
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
    if (elected !== undefined && election !== 'pending' && failsElection(node, states.input)) return this.#rejectElection(node)
    const halt = this.#haltOf(node)
    if (halt !== undefined && !this.#mayStillRun(node)) return this.#skip(node, halt)
    if (election !== 'pending') return this.#start(node)
    if (this.#unreachable.has(node)) return this.#skip(node, halt ?? 'condition-false')
    const verdict = this.#judge(node)
    if (verdict.holds === 'broken') return this.#finish(node, 'error', { reason: 'condition-error', message: verdict.message })
    const holds = verdict.holds === 'yes' && (halt === undefined || node.readsResult || this.#handlesFailure(node))
    if (holds) {
      this.#deferred.delete(node)
      if (elected === undefined) return this.#start(node)
      this.#open(elected)
      if (states.isFinal(elected)) this.#considerStep(node)
    } else if (this.#isDeferrable(node)) this.#deferred.add(node)
    else this.#skip(node, halt ?? 'condition-false')
  }

  /** Returns true if everything that the step waits for is over. */
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

  /** Handles a step whose on_elected hook failed: the step must not run. Inside hooks this counts as an ordinary failure. */
  #rejectElection(node: Node): void {
    if (node.isHook)
      this.#finish(node, 'error', { reason: 'step-failed', message: `The on_elected hook of "${node.name}" failed.` })
    else this.#skip(node, 'not-reached')
  }

  /**
   * Returns true if a halt does not apply: to steps that read `workflow.result` and, in root parallel mode, to steps that wait for a failed or
   * finished step.
   */
  #mayStillRun(node: Node): boolean {
    if (node.readsResult || this.#states.isRepeated(node)) return this.#states.cancelled === undefined || node.readsResult
    if (this.#states.cancelled !== undefined || this.#states.isExpired(node.parent)) return false
    return this.#isDeferrable(node) && failureConditionsOf(node).length > 0
  }

  /** Returns true if the `when` of the step holds because another step failed or finished. */
  #handlesFailure(node: Node): boolean {
    if (this.#states.isRepeated(node)) return true
    return failureConditionsOf(node).some(({ name, on }) => matchesResult(this.#states.stateSeenBy(node, name), on))
  }

  #isDeferrable(node: Node): boolean {
    if (!this.#isParallel || node.isHook) return false
    for (let at = node.parent; at !== undefined; at = at.parent) {
      const { action } = at.step
      if (action.kind === 'group' && action.mode === 'serial') return false
    }
    return true
  }

  /** Returns the reason why the step can no longer start. */
  #haltOf(node: Node): Reason | undefined {
    return this.#survives(node) ? this.#states.haltInside(node) : this.#states.haltOf(node)
  }

  /** Returns true for clean-up, which continues after a cancel. */
  #survives(node: Node): boolean {
    if (this.#context.forced === true) return false
    return lineage(node).some((around) => around.step.hook?.moment === 'on_finish' || (around !== node && around.readsResult))
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
    if (moment === 'on_finish' && !siblings.every((other) => other === hook || states.isComplete(other))) return
    const why = this.#hookSkipReason(hook)
    if (why !== undefined) return this.#skip(hook, why)
    const isUnwanted = (other: Node): boolean => other.step.hook?.moment !== moment && other.step.hook?.moment !== 'on_finish'
    if (siblings.every((other) => !isUnwanted(other) || states.isComplete(other))) this.#open(hook)
  }

  /** Returns the reason why a hook after its step does not run. */
  #hookSkipReason(hook: Node): Reason | undefined {
    const { owner } = hook
    const { cancelled } = this.#states
    const ended = owner === undefined ? this.#outcome() : this.#states.of(owner)
    if (ended.status === 'skipped' && !this.#wasElected(owner)) return ended.reason ?? 'not-reached'
    if (this.#context.forced === true) return cancelled ?? 'cancelled'
    if (hook.step.hook?.moment === 'on_finish') return undefined
    if (cancelled !== undefined && !(owner !== undefined && (owner.readsResult || this.#survives(owner)))) return cancelled
    const isWanted = ended.status === (hook.step.hook?.moment === 'on_success' ? 'success' : 'error')
    return isWanted ? undefined : 'condition-false'
  }

  /** Returns true if the on_elected hook of a step ran, so that there may be something to clean up. */
  #wasElected(owner: Node | undefined): boolean {
    const hook = owner === undefined ? undefined : hookOf(owner.hooks, 'on_elected')
    return hook !== undefined && ['success', 'error', 'terminated'].includes(this.#states.of(hook).status)
  }

  /** Starts a hook if its `when` holds. */
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
      ? ({ status: 'error', reason: 'timeout', message: `The time limit of "${group.name}" was reached.` } as const)
      : groupOutcome(group, states.input)
    if (ended.status === 'success') return this.#succeed(group)
    const again = nextTry(group.step, { ...ended, try: states.of(group).try })
    if (again !== undefined && states.cancelled === undefined) return this.#restart(group, again)
    if (forgives(group, states.input)) this.#finish(group, 'success')
    else this.#finish(group, 'error', ended)
  }

  #succeed(group: Node): void {
    const { outputs, problem } = typedOutputs(group, this.#states.input.snapshot)
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
    this.#requeueWatchers(node)
  }

  #skip(node: Node, reason: Reason): void {
    this.#finish(node, 'skipped', { reason })
  }

  #finish(
    node: Node,
    status: FinalStepStatus,
    details: Omit<Decision & { type: 'finish' }, 'type' | 'step' | 'status'> = {},
  ): void {
    const { reason, message, outputs } = details
    this.#deferred.delete(node)
    const known = {
      ...(reason !== undefined && { reason }),
      ...(message !== undefined && { message }),
      ...(outputs !== undefined && { outputs }),
    }
    this.#decisions.push({ type: 'finish', step: node.name, status, ...known })
    const change = this.#states.finish(node, { status, ...known })
    // A group that ends without having run also skips all steps inside it.
    for (const inside of node.isGroup ? belongings(node, { inside: true }) : [])
      if (!this.#states.isFinal(inside)) this.#skip(inside, reason ?? 'not-reached')
    for (const other of change === 'build' ? this.#states.shape.nodes : change === 'group' ? this.#states.siblingsOf(node) : [])
      if (!this.#states.isFinal(other)) this.#queue.add(other)
    this.#requeueAffected(node)
  }

  /** Queues everything that the end of a step may affect. */
  #requeueAffected(node: Node): void {
    const { shape } = this.#states
    const about = node.step.hook === undefined ? node : node.owner
    for (const hook of about?.hooks ?? shape.hooks) if (hook !== node) this.#queue.add(hook)
    if (about === undefined) for (const root of shape.roots) this.#queue.add(root)
    else {
      this.#queue.add(about)
      if (about.parent !== undefined) this.#requeueGroup(about.parent)
      for (const follower of about.followers) this.#queue.add(follower)
      this.#requeueWatchers(about)
      if (about.owner === undefined && this.#states.isOver(undefined)) for (const hook of shape.hooks) this.#queue.add(hook)
    }
    for (const held of this.#states.released()) this.#queue.add(held)
  }

  #requeueGroup(group: Node): void {
    this.#queue.add(group)
    // A skipped group is over only when everything inside it is.
    if (this.#states.isFinal(group) && this.#states.areSettledIn(group)) this.#requeueAffected(group)
  }

  #requeueWatchers(node: Node): void {
    for (const watcher of node.mentionedBy) this.#queue.add(watcher)
    for (const deferred of this.#deferred) if (deferred.readsResult && this.#states.isNearEnd(deferred)) this.#queue.add(deferred)
  }

  /**
   * Skips deferred steps in parallel mode once nothing can change any more. Steps that do not depend on other deferred steps go first, because
   * others may be waiting for them to be skipped. Returns true if any step was skipped.
   */
  #skipDeferred(): boolean {
    if (this.#deferred.size === 0 || this.#states.moving > 0 || this.#decisions.some(({ type }) => type === 'restart'))
      return false
    // Steps that read `workflow.result` come last.
    const plain = [...this.#deferred].filter(({ readsResult }) => !readsResult)
    const deferred = plain.length > 0 ? plain : [...this.#deferred]
    const unreachable = deferred.filter((node) => !node.mentions.some((other) => this.#deferred.has(other)))
    for (const node of unreachable.length > 0 ? unreachable : deferred) {
      this.#unreachable.add(node)
      this.#queue.add(node)
    }
    return true
  }
}
