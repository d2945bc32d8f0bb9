/**
 * A second implementation of the execution rules, written from docs/guides/execution.md. Each step is a small program that waits, evaluates its
 * condition, runs and ends. Shares no code with the graph rules; deliberately slow and simple.
 */
import { PAUSE } from './model.ts'
import type { Condition, Model, Part } from './model.ts'
import { Parts, type Status } from './parts.ts'

interface Thread {
  /** If several threads can continue, the one of the first step in the document does. */
  readonly rank: number
  readonly steps: Generator<() => boolean, void>
  /** The thread continues when this holds. */
  until: () => boolean
}

export interface PlayResult {
  /** `name: status (reason)` of every step, by name. */
  readonly states: readonly string[]
  /** `status (reason)` of the build. */
  readonly outcome: string
  /** `time name` of every start of a leaf, in order. */
  readonly starts: readonly string[]
}

/** Plays a build according to the rules. */
export function playReference(model: Model): PlayResult {
  return new Reference(model).play()
}

class Reference {
  readonly #model: Model
  readonly #tree: Parts
  readonly #ended = new Map<Part, number>()
  readonly #ends = new Map<Part, number>()
  readonly #pauses = new Map<Part, number>()
  readonly #limits = new Map<Part, number>()
  readonly #late = new Set<Part>()
  readonly #lost = new Set<Part>()
  /** Why nothing more starts in a group; the build has the key undefined. */
  readonly #halts = new Map<Part | undefined, string>()
  readonly #waiting = new Set<Part>()
  readonly #left = new Set<Part>()
  readonly #starts: string[] = []
  #threads: Thread[] = []
  #now = 0
  #cancelled: string | undefined
  #forced = false
  #isOver = false
  #isIdle = false

  constructor(model: Model) {
    this.#model = model
    this.#tree = new Parts(model)
    for (const part of this.#tree.parts.values())
      this.#tree.states.set(part, { status: 'pending', reason: undefined, word: undefined })
  }

  play(): PlayResult {
    this.#spawn(this.#build(), undefined)
    const events = this.#outside()
    this.#settle()
    while (!this.#isOver) {
      const next = Math.min(...this.#timers(), events[0]?.at ?? Infinity)
      if (next === Infinity) throw new Error('the reference is stuck')
      this.#now = next
      if (events[0]?.at === next) events.shift()?.act()
      else this.#ring()
      this.#settle()
    }
    const states = [...this.#tree.parts.values()].map((part) => ({ name: part.name, ...this.#tree.state(part) }))
    const { status, reason } = this.#outcome()
    return {
      states: states
        .map(({ name, status: own, reason: why }) => `${name}: ${own}${why === undefined ? '' : ` (${why})`}`)
        .toSorted(),
      outcome: reason === undefined ? status : `${status} (${reason})`,
      starts: this.#starts.toSorted(),
    }
  }

  #outside(): { at: number; act: () => void }[] {
    const { cancelAt, forceAt, losses } = this.#model
    const events = losses.map(({ at, volumeKept }) => ({ at, act: () => this.#lose(volumeKept) }))
    if (cancelAt !== undefined) events.push({ at: cancelAt, act: () => this.#cancel('cancelled') })
    if (forceAt !== undefined) events.push({ at: forceAt, act: () => this.#cancel('cancelled') })
    return events.toSorted((a, b) => a.at - b.at)
  }

  #timers(): number[] {
    return [...this.#ends.values(), ...this.#pauses.values(), ...this.#limits.values()]
  }

  /** Runs everything that is due now. */
  #ring(): void {
    for (const [part, at] of this.#ends) if (at === this.#now) this.#finishLeaf(part)
    for (const [part, at] of this.#pauses) {
      if (at !== this.#now) continue
      this.#pauses.delete(part)
      this.#reset(part)
    }
    for (const [part, at] of this.#limits) if (at === this.#now) this.#expire(part)
  }

  #finishLeaf(part: Part): void {
    this.#ends.delete(part)
    if (part.kind === 'approval') return this.#decide(part)
    const times = this.#ended.get(part) ?? 0
    this.#ended.set(part, times + 1)
    const end = part.ends[Math.min(times, part.ends.length - 1)] ?? 'success'
    this.#final(part, end, end === 'error' ? 'exit-code' : undefined)
  }

  #decide(part: Part): void {
    if (this.#isIdle) this.#countAnew()
    this.#tree.state(part).word = part.decision
    if (part.decision === 'approved') this.#final(part, 'success')
    else if (part.decision === 'denied') this.#final(part, 'error', 'denied')
    else {
      this.#final(part, 'terminated', 'approval-timeout')
      this.#cancel('approval-timeout')
    }
  }

  #cancel(reason: string): void {
    if (this.#cancelled !== undefined && !this.#isOver) this.#forced = reason === 'cancelled' || this.#forced
    this.#cancelled ??= reason
    for (const part of this.#ends.keys()) {
      const spared = part.kind !== 'approval' && this.#tree.isInOnFinish(part)
      if (spared && !this.#forced) continue
      this.#ends.delete(part)
      this.#final(part, 'terminated', part.kind === 'approval' ? this.#cancelled : reason)
    }
  }

  #expire(group: Part): void {
    this.#limits.delete(group)
    this.#late.add(group)
    for (const part of this.#ends.keys()) {
      if (part.kind === 'approval' || this.#tree.isInOnFinish(part) || !this.#tree.isInside(part, group)) continue
      this.#ends.delete(part)
      this.#ended.set(part, (this.#ended.get(part) ?? 0) + 1)
      this.#final(part, 'error', 'timeout')
    }
  }

  #lose(volumeKept: boolean): void {
    if (this.#isOver || this.#cancelled !== undefined) return
    if (!volumeKept) return this.#beginAnew()
    for (const part of this.#ends.keys()) {
      if (part.kind === 'approval') continue
      this.#ends.delete(part)
      this.#tree.state(part).status = 'pending'
      this.#lost.add(part)
    }
    for (const part of this.#pauses.keys()) this.#pauses.set(part, this.#now + PAUSE)
    this.#countAnew()
  }

  /** Restarts the time limits of open groups. */
  #countAnew(): void {
    this.#late.clear()
    for (const part of this.#tree.parts.values()) {
      const isOpen = part.kind === 'group' && this.#tree.state(part).status === 'running' && !this.#pauses.has(part)
      if (isOpen && part.limit !== undefined) this.#limits.set(part, this.#now + part.limit)
    }
  }

  #beginAnew(): void {
    for (const part of this.#tree.parts.values()) {
      const { reason } = this.#tree.state(part)
      const isOut = reason === 'not-selected'
      this.#tree.states.set(part, { status: isOut ? 'skipped' : 'pending', reason: isOut ? reason : undefined, word: undefined })
    }
    for (const timers of [this.#ends, this.#pauses, this.#limits, this.#halts]) timers.clear()
    for (const set of [this.#late, this.#lost, this.#waiting, this.#left]) set.clear()
    this.#threads = []
    this.#spawn(this.#build(), undefined)
  }

  #spawn(steps: Thread['steps'], part: Part | undefined): void {
    const rank = part === undefined ? Infinity : [...this.#tree.parts.values()].indexOf(part)
    this.#threads.push({ steps, rank, until: () => true })
    this.#threads.sort((a, b) => a.rank - b.rank)
  }

  /** Runs threads until none can continue; then skips those that wait in vain. */
  #settle(): void {
    for (;;) {
      const ready = this.#threads.find(({ until }) => until())
      if (ready !== undefined) {
        const { done, value } = ready.steps.next()
        if (done === true) this.#threads.splice(this.#threads.indexOf(ready), 1)
        else ready.until = value
      } else if (!this.#giveUp()) return this.#rest()
    }
  }

  /** While only approvals are left there is no engine, and no time counts. */
  #rest(): void {
    const isIdle =
      this.#ends.size > 0 && this.#pauses.size === 0 && [...this.#ends.keys()].every(({ kind }) => kind === 'approval')
    if (isIdle) this.#limits.clear()
    this.#isIdle = isIdle
  }

  #giveUp(): boolean {
    if (this.#waiting.size === 0 || this.#ends.size > 0 || this.#pauses.size > 0) return false
    const plain = [...this.#waiting].filter((part) => part.when?.kind !== 'workflow')
    const all = plain.length > 0 ? plain : [...this.#waiting]
    const hopeless = all.filter((part) => !this.#tree.mentions(part).some((other) => this.#waiting.has(other)))
    for (const part of hopeless.length > 0 ? hopeless : all) this.#left.add(part)
    return true
  }

  *#build(): Thread['steps'] {
    const { hooks, roots } = this.#model
    const first = hooks.find(([moment]) => moment === 'on_elected')?.[1]
    if (first !== undefined && !this.#tree.isFinal(first)) {
      if (this.#cancelled !== undefined) this.#leaveOut(first, this.#cancelled)
      else yield* this.#hook(first)
      if (this.#tree.state(first).status === 'error' && first.failFast) this.#halt(undefined, 'not-reached')
      if (this.#tree.state(first).status === 'terminated') this.#cancelled ??= this.#tree.state(first).reason ?? 'cancelled'
    }
    for (const root of roots) this.#spawn(this.#unit(root), root)
    yield () => roots.every((root) => this.#tree.isSettled(root))
    yield* this.#lastHooks(undefined)
    this.#isOver = true
  }

  /** Runs a step with its hooks. */
  *#unit(part: Part): Thread['steps'] {
    if (this.#tree.isFinal(part)) return
    const before = this.#tree.before(part)
    if (before !== undefined) yield () => this.#tree.isSettled(before)
    const elect = part.hooks.find(([moment]) => moment === 'on_elected')?.[1]
    for (;;) {
      if (!(yield* this.#turn(part, elect !== undefined && this.#tree.isFinal(elect)))) break
      if (elect !== undefined && !this.#tree.isFinal(elect)) {
        yield* this.#hook(elect)
        if (this.#tree.isFinal(part)) break
        if (this.#fails(elect)) {
          this.#unelect(part)
          break
        }
        if (this.#tree.state(elect).status === 'terminated' && !this.#tree.isInHook(part))
          this.#cancelled ??= this.#tree.state(elect).reason
        continue
      }
      yield* this.#run(part)
      if (!this.#lost.delete(part)) break
    }
    yield* this.#lastHooks(part)
  }

  #fails(hook: Part): boolean {
    return this.#tree.state(hook).status === 'error' && hook.failFast && !this.#forced
  }

  #unelect(part: Part): void {
    if (this.#tree.isInHook(part)) return this.#break(part, 'step-failed')
    this.#leaveOut(part, 'not-reached')
    this.#halt(this.#tree.holder.get(part), 'not-reached')
    this.#halt(undefined, 'not-reached')
  }

  /** Waits until it is decided whether the step runs. Returns true if it does. */
  *#turn(part: Part, isJudged: boolean): Generator<() => boolean, boolean> {
    for (;;) {
      const answer = this.#permission(part, isJudged)
      if (answer === 'run') {
        this.#waiting.delete(part)
        return true
      }
      if (answer === 'wait') {
        this.#waiting.add(part)
        yield () => this.#left.has(part) || this.#permission(part, isJudged) !== 'wait'
        if (!this.#left.has(part)) continue
      }
      this.#waiting.delete(part)
      if (answer === 'wait') this.#leaveOut(part, this.#haltOf(part) ?? 'condition-false')
      else if (answer === 'broken') this.#break(part, 'condition-error')
      else this.#leaveOut(part, answer.skip)
      return false
    }
  }

  #permission(part: Part, isJudged: boolean): 'run' | 'wait' | 'broken' | { skip: string } {
    if (this.#tree.line(part).some(({ name }) => this.#model.skip.includes(name))) return { skip: 'not-selected' }
    if (this.#forced) return { skip: this.#cancelled ?? 'cancelled' }
    const halt = this.#haltOf(part)
    const readsResult = part.when?.kind === 'workflow'
    const isDeferrable = this.#isPatient(part)
    const holder = this.#tree.holder.get(part)
    const failureConditions = holder !== undefined && this.#isLate(holder) ? [] : this.#tree.failureConditions(part)
    if (halt !== undefined && !readsResult && (!isDeferrable || failureConditions.length === 0 || this.#cancelled !== undefined))
      return { skip: halt }
    if (isJudged) return 'run'
    const verdict = part.when === undefined ? true : this.#judge(part.when, part)
    if (verdict === undefined) return 'broken'
    const handlesFailure = failureConditions.some(({ name, on }) => on.some((word) => this.#words(name, part).includes(word)))
    if (verdict && (halt === undefined || readsResult || handlesFailure)) return 'run'
    return isDeferrable ? 'wait' : { skip: halt ?? 'condition-false' }
  }

  /** Returns true in root parallel mode outside serial groups and hooks, where a step waits until its condition holds. */
  #isPatient(part: Part): boolean {
    if (!this.#model.parallel || this.#tree.isInHook(part)) return false
    return this.#tree.line(part).every((around) => around === part || around.parallel)
  }

  *#run(part: Part): Thread['steps'] {
    const state = this.#tree.state(part)
    if (part.kind === 'group') return yield* this.#runGroup(part)
    state.status = part.kind === 'approval' ? 'waiting' : 'running'
    this.#starts.push(`${this.#now.toFixed(6).padStart(20)} ${part.name}`)
    if (part.kind === 'approval' && this.#cancelled !== undefined) return this.#final(part, 'terminated', this.#cancelled)
    this.#ends.set(part, this.#now + part.takes)
    yield () => this.#tree.isFinal(part) || this.#lost.has(part)
  }

  *#runGroup(group: Part): Thread['steps'] {
    this.#tree.state(group).status = 'running'
    for (let round = 1; ; round += 1) {
      this.#late.delete(group)
      if (group.limit !== undefined) this.#limits.set(group, this.#now + group.limit)
      for (const child of group.children) this.#spawn(this.#unit(child), child)
      yield () => group.children.every((child) => this.#tree.isSettled(child))
      const { status, reason } = this.#resultOf(group)
      const isTried =
        status === 'error' &&
        round < group.tries &&
        this.#cancelled === undefined &&
        reason !== 'condition-error' &&
        reason !== 'denied'
      this.#limits.delete(group)
      if (isTried) {
        this.#pauses.set(group, this.#now + PAUSE)
        yield () => !this.#pauses.has(group) || this.#cancelled !== undefined
        if (!this.#pauses.delete(group)) continue
      }
      const end = this.#resultOf(group)
      const isForgiven = end.status === 'error' && !group.typed && !group.failFast
      this.#final(group, isForgiven ? 'success' : end.status, isForgiven ? undefined : end.reason)
      return
    }
  }

  #reset(group: Part): void {
    for (const part of this.#tree.parts.values()) {
      if (part === group || !this.#tree.isInside(part, group)) continue
      this.#tree.states.set(part, { status: 'pending', reason: undefined, word: undefined })
      this.#halts.delete(part)
      for (const set of [this.#left, this.#waiting, this.#lost]) set.delete(part)
    }
    this.#halts.delete(group)
    // Undoes a failure of the build that came from inside the group.
    if (
      this.#halts.get(undefined) === 'not-reached' &&
      !this.#model.roots.some((root) => this.#isFatal(root)) &&
      !this.#tree.isUnelected()
    )
      this.#halts.delete(undefined)
  }

  #resultOf(group: Part): { status: Status; reason?: string | undefined } {
    const states = group.children.map((child) => this.#tree.state(child))
    const stopped = states.find(
      ({ status, reason }) =>
        status === 'terminated' || (status === 'skipped' && this.#cancelled !== undefined && reason === this.#cancelled),
    )
    if (stopped !== undefined) return { status: 'terminated', reason: stopped.reason }
    if (this.#late.has(group)) return { status: 'error', reason: 'timeout' }
    const { criteria } = group
    const isListed = criteria?.only !== undefined || criteria?.ignore !== undefined
    const unelected = group.children.find((child) =>
      child.hooks.some(([moment, hook]) => moment === 'on_elected' && this.#tree.state(hook).status === 'error' && hook.failFast),
    )
    const fatal = criteria?.condition === undefined || isListed ? group.children.find((child) => this.#isFatal(child)) : undefined
    const failed = unelected ?? fatal
    if (failed !== undefined)
      return { status: 'error', reason: this.#tree.state(failed).reason === 'denied' ? 'denied' : 'step-failed' }
    if (criteria?.condition === undefined) return { status: 'success' }
    const verdict = this.#judge(criteria.condition, group.children[0])
    if (verdict === true) return { status: 'success' }
    return { status: 'error', reason: verdict === undefined ? 'condition-error' : 'step-failed' }
  }

  /** Runs a hook that may run now. */
  *#hook(hook: Part): Thread['steps'] {
    for (;;) {
      const verdict = hook.when === undefined ? true : this.#judge(hook.when, hook)
      if (verdict === undefined) return this.#break(hook, 'condition-error')
      if (!verdict) return this.#leaveOut(hook, 'condition-false')
      yield* this.#run(hook)
      if (!this.#lost.delete(hook)) return
      if (this.#tree.moment.get(hook) === 'on_elected') {
        const owner = this.#tree.owner.get(hook)
        if (owner !== undefined && !(yield* this.#turn(owner, false)))
          return this.#leaveOut(hook, this.#tree.state(owner).reason ?? 'not-reached')
      }
    }
  }

  *#lastHooks(owner: Part | undefined): Thread['steps'] {
    yield () => true
    const hooks = owner === undefined ? this.#model.hooks : owner.hooks
    const ended = owner === undefined ? this.#outcome() : this.#tree.state(owner)
    const elect = hooks.find(([moment]) => moment === 'on_elected')?.[1]
    if (owner !== undefined && elect !== undefined && !this.#tree.isFinal(elect))
      this.#leaveOut(elect, ended.reason ?? 'not-reached')
    const isBegun = ended.status !== 'skipped' || (elect !== undefined && this.#tree.state(elect).status !== 'skipped')
    if (!isBegun) {
      for (const [, hook] of hooks) if (!this.#tree.isFinal(hook)) this.#leaveOut(hook, ended.reason ?? 'not-reached')
      return
    }
    const isStopped =
      this.#cancelled !== undefined &&
      (this.#forced || owner === undefined || !(owner.when?.kind === 'workflow' || this.#tree.isCleanUp(owner)))
    const wanted = isStopped
      ? undefined
      : ended.status === 'success'
        ? 'on_success'
        : ended.status === 'error'
          ? 'on_fail'
          : undefined
    for (const [moment, hook] of hooks) {
      const isOther = (moment === 'on_success' || moment === 'on_fail') && moment !== wanted && !this.#tree.isFinal(hook)
      if (isOther) this.#leaveOut(hook, isStopped ? (this.#cancelled ?? 'cancelled') : 'condition-false')
    }
    const chosen = hooks.find(([moment]) => moment === wanted)?.[1]
    if (chosen !== undefined && !this.#tree.isFinal(chosen)) yield* this.#hook(chosen)
    const last = hooks.find(([moment]) => moment === 'on_finish')?.[1]
    if (last === undefined || this.#tree.isFinal(last)) return
    if (this.#forced) this.#leaveOut(last, this.#cancelled ?? 'cancelled')
    else yield* this.#hook(last)
  }

  /** Ends a step that fails before it runs. */
  #break(part: Part, reason: string): void {
    this.#final(part, 'error', reason)
    this.#leaveOutInside(part, reason)
  }

  /** Skips a step and everything inside it, with their hooks. */
  #leaveOut(part: Part, reason: string): void {
    this.#final(part, 'skipped', reason)
    this.#leaveOutInside(part, reason)
  }

  #leaveOutInside(part: Part, reason: string): void {
    for (const child of part.children) {
      for (const one of [child, ...child.hooks.map(([, hook]) => hook)]) if (!this.#tree.isFinal(one)) this.#leaveOut(one, reason)
    }
  }

  #final(part: Part, status: Status, reason?: string): void {
    const state = this.#tree.state(part)
    if (this.#tree.isFinal(part)) throw new Error(`${part.name} ends twice`)
    state.status = status
    state.reason = reason
    const owner = this.#tree.owner.get(part)
    const isUnelected =
      this.#tree.moment.get(part) === 'on_elected' && this.#fails(part) && owner !== undefined && !this.#tree.isInHook(owner)
    if (isUnelected) for (const group of [this.#tree.holder.get(owner), undefined]) this.#halt(group, 'not-reached')
    if (this.#tree.moment.has(part)) return
    if (status === 'terminated') {
      this.#halt(this.#tree.holder.get(part), reason ?? 'cancelled')
      if (!this.#tree.isInHook(part)) this.#cancelled ??= reason
    } else if (this.#isFatal(part)) this.#halt(this.#tree.holder.get(part), 'not-reached')
  }

  #halt(group: Part | undefined, reason: string): void {
    if (!this.#halts.has(group)) this.#halts.set(group, reason)
  }

  #haltOf(part: Part): string | undefined {
    const holder = this.#tree.holder.get(part)
    const halt = this.#halts.get(holder) ?? (holder !== undefined && this.#isLate(holder) ? 'not-reached' : undefined)
    return (this.#tree.isCleanUp(part) ? undefined : this.#cancelled) ?? halt
  }

  /** Returns true if the group, or a group around it, reached its time limit. */
  #isLate(group: Part): boolean {
    const holder = this.#tree.holder.get(group)
    return this.#late.has(group) || (holder !== undefined && group.when?.kind !== 'workflow' && this.#isLate(holder))
  }

  /** Returns true for a failure that stops siblings that have not started. */
  #isFatal(part: Part): boolean {
    return this.#tree.state(part).status === 'error' && part.failFast && this.#tree.counts(part)
  }

  #outcome(): { status: Status; reason?: string | undefined } {
    if (this.#cancelled !== undefined) return { status: 'terminated', reason: this.#cancelled }
    const body = [...this.#tree.parts.values()].filter((part) => !this.#tree.isInHook(part))
    if (this.#tree.isUnelected()) return { status: 'error', reason: 'step-failed' }
    const { criteria, roots } = this.#model
    if (criteria?.condition !== undefined) {
      const verdict = this.#judge(criteria.condition, undefined)
      if (verdict !== true) return { status: 'error', reason: verdict === undefined ? 'condition-error' : 'step-failed' }
      if (criteria.only === undefined && criteria.ignore === undefined) return { status: 'success' }
    }
    const failed = roots.find((root) => this.#isFatal(root)) ?? body.find((part) => this.#isStrict(part))
    if (failed === undefined) return { status: 'success' }
    return { status: 'error', reason: this.#tree.state(failed).reason === 'denied' ? 'denied' : 'step-failed' }
  }

  /** Returns true for a failure that lets the build continue but counts at its end. */
  #isStrict(part: Part): boolean {
    if (this.#tree.state(part).status !== 'error' || part.failFast || !(part.strict || this.#model.strict)) return false
    return this.#tree.line(part).every((at) => {
      const holder = this.#tree.holder.get(at)
      return this.#tree.counts(at) && (holder === undefined || (holder.failFast && holder.criteria?.condition === undefined))
    })
  }

  #judge(condition: Condition, part: Part | undefined): boolean | undefined {
    switch (condition.kind) {
      case 'always':
        return true
      case 'never':
        return false
      case 'broken':
        return undefined
      case 'workflow':
        return this.#workflow(part) === condition.is
      case 'result':
        return this.#words(condition.name, part)[0] === condition.is
      case 'steps': {
        const holds = condition.of.map(({ name, on }) => on.some((word) => this.#words(name, part).includes(word)))
        return condition.match === 'all' ? !holds.includes(false) : holds.includes(true)
      }
    }
  }

  /** Returns the names of a step's state; the first is its result. In parallel mode a step whose hooks are not over still runs, except for hooks. */
  #words(name: string, viewer: Part | undefined): string[] {
    const part = this.#tree.named(name)
    const { status, reason, word } = this.#tree.state(part)
    const isMasked =
      this.#model.parallel &&
      viewer !== undefined &&
      !this.#tree.isInHook(viewer) &&
      this.#tree.isFinal(part) &&
      !this.#tree.isSettled(part)
    if (isMasked) return ['running']
    if (status === 'waiting') return ['pending-approval']
    if (status === 'error') return [word ?? (reason === 'denied' ? 'denied' : 'failure'), 'failure', 'finished']
    if (status === 'success') return [word ?? 'success', 'success', 'finished']
    return status === 'skipped' ? ['skipped', 'finished'] : [word ?? status]
  }

  #workflow(part: Part | undefined): string {
    if (this.#cancelled !== undefined) return 'terminated'
    if (this.#halts.has(undefined)) return 'failure'
    const own = part === undefined ? [] : this.#tree.line(part)
    const groups = part === undefined ? [] : this.#tree.groupsAround(part)
    if (groups.some((group) => this.#halts.has(group) || this.#isLate(group))) return 'failure'
    const open = [...this.#tree.parts.values()].filter(
      (other) =>
        !this.#tree.isInHook(other) &&
        !this.#tree.isFinal(other) &&
        !own.includes(other) &&
        !this.#tree.line(other).some(({ when }) => when?.kind === 'workflow'),
    )
    if (open.length > 0) return 'running'
    return this.#outcome().status === 'success' ? 'success' : 'failure'
  }
}
