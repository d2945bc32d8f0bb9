/** Plays a random build with the graph rules like an engine: starts and ends leaves, cancels, gets lost, resumes and receives old facts again. */
import { decide, emptySnapshot, fold, isGroup, isInOnFinish, resume, stepsInside, stoppedBy } from '../../src/index.ts'
import type { BuildContext, Decision, Outcome, Plan, Reason, Snapshot, StepFact } from '../../src/index.ts'
import { numbers, planOf } from './model.ts'
import type { Model, Part } from './model.ts'
import type { PlayResult } from './reference.ts'

export function playPlan(model: Model, seed: number): PlayResult {
  return new Play(model, seed).run()
}

class Play {
  readonly #model: Model
  readonly #plan: Plan
  readonly #parts = new Map<string, Part>()
  readonly #next: () => number
  readonly #running = new Map<string, number>()
  readonly #waiting = new Map<string, number>()
  readonly #pauses = new Map<string, { until: number; restart: Extract<Decision, { type: 'restart' }> }>()
  readonly #limits = new Map<string, number>()
  readonly #expired = new Set<string>()
  readonly #ended = new Map<string, number>()
  readonly #facts: StepFact[] = []
  readonly #starts: string[] = []
  #snapshot: Snapshot
  #now = 0
  #cancelled: Reason | undefined
  #forced = false
  #isPaused = false

  constructor(model: Model, seed: number) {
    this.#model = model
    this.#plan = planOf(model)
    this.#next = numbers(seed + 1)
    const enter = (part: Part): void => {
      this.#parts.set(part.name, part)
      for (const inner of [...part.children, ...part.hooks.map(([, hook]) => hook)]) enter(inner)
    }
    for (const part of [...model.roots, ...model.hooks.map(([, hook]) => hook)]) enter(part)
    this.#snapshot = emptySnapshot(this.#plan)
  }

  run(): PlayResult {
    const { cancelAt = Infinity, forceAt = Infinity, losses } = this.#model
    const outside = [
      ...losses.map(({ at, volumeKept }) => ({ at, act: () => this.#lose(volumeKept) })),
      { at: cancelAt, act: () => this.#cancel('cancelled') },
      { at: forceAt, act: () => this.#cancel('cancelled') },
    ].toSorted((a, b) => a.at - b.at)
    for (let rounds = 0; rounds < 2_000; rounds += 1) {
      const outcome = this.#carryOut()
      if (outcome !== undefined) return this.#result(outcome)
      const timers = [this.#running, this.#waiting, this.#limits].flatMap((map) => [...map.values()])
      const next = Math.min(...timers, ...[...this.#pauses.values()].map(({ until }) => until), outside[0]?.at ?? Infinity)
      if (next === Infinity) throw new Error('the build is stuck')
      this.#now = next
      if (outside[0]?.at === next) outside.shift()?.act()
      else this.#ring()
    }
    throw new Error('the build did not end')
  }

  #result(outcome: Outcome): PlayResult {
    const { steps } = this.#snapshot
    return {
      states: Object.entries(steps)
        .map(([name, { status, reason }]) => `${name}: ${status}${reason === undefined ? '' : ` (${reason})`}`)
        .toSorted(),
      outcome: outcome.reason === undefined ? outcome.status : `${outcome.status} (${outcome.reason})`,
      starts: this.#starts.toSorted(),
    }
  }

  #context(): BuildContext {
    const { skip } = this.#model
    return { cancelled: this.#cancelled, forced: this.#forced, skip, expired: this.#expired }
  }

  /** Carries out decisions until there are none left. Returns the outcome if the build has ended. */
  #carryOut(): Outcome | undefined {
    for (;;) {
      this.#isPaused = false
      const decisions = decide(this.#plan, this.#snapshot, this.#context())
      let isWaiting = false
      for (const decision of decisions) {
        if (decision.type === 'end') return decision.outcome
        if (decision.type === 'pause') this.#pause()
        if (decision.type === 'finish') this.#finish(decision.step, decision)
        if (decision.type === 'start') isWaiting = this.#start(decision) || isWaiting
      }
      this.#pauseGroups(decisions.filter((decision) => decision.type === 'restart'))
      if (!isWaiting) return undefined
    }
  }

  #pauseGroups(restarts: readonly Extract<Decision, { type: 'restart' }>[]): void {
    for (const name of this.#pauses.keys()) if (!restarts.some(({ step }) => step === name)) this.#pauses.delete(name)
    for (const restart of restarts) {
      if (this.#pauses.has(restart.step)) continue
      this.#limits.delete(restart.step)
      this.#pauses.set(restart.step, { until: this.#now + restart.delayMs, restart })
    }
  }

  #pause(): void {
    if (this.#running.size > 0 || this.#pauses.size > 0 || this.#waiting.size === 0)
      throw new Error('paused while a step is running')
    this.#isPaused = true
    this.#limits.clear()
  }

  /** Returns true for an approval, after which there is more to decide. */
  #start({ step, try: number }: { step: string; try: number }): boolean {
    const part = this.#part(step)
    if (this.#running.has(step)) throw new Error(`${step} runs twice`)
    this.#checkOrder(step)
    this.#applyFact({ type: 'step.started', step, try: number, at: this.#now })
    if (isGroup(this.#plan, step)) {
      this.#beginGroup(part)
      return false
    }
    this.#starts.push(`${this.#now.toFixed(6).padStart(20)} ${step}`)
    if (part.kind !== 'approval') {
      this.#running.set(step, this.#now + part.takes)
      return false
    }
    this.#applyFact({ type: 'step.waiting', step, reason: 'approval', at: this.#now })
    this.#waiting.set(step, this.#now + part.takes)
    return true
  }

  /** Checks that no step starts before the steps that it follows, and their hooks, are over. */
  #checkOrder(step: string): void {
    const { after, hook } = this.#plan.steps.find(({ name }) => name === step) ?? { after: [], hook: undefined }
    const isOver = (name: string): boolean =>
      ['success', 'error', 'skipped', 'terminated'].includes(this.#snapshot.steps[name]?.status ?? '')
    for (const name of after) {
      const hooks = this.#part(name).hooks.map(([, { name: own }]) => own)
      if (![name, ...hooks].every(isOver)) throw new Error(`${step} starts before ${name} is over`)
    }
    if (hook?.of !== undefined && (hook.moment === 'on_elected') === isOver(hook.of))
      throw new Error(`${step} starts out of turn`)
  }

  #beginGroup(part: Part): void {
    this.#expired.delete(part.name)
    if (part.limit === undefined) this.#limits.delete(part.name)
    else this.#limits.set(part.name, this.#now + part.limit)
  }

  #ring(): void {
    for (const [name, at] of this.#running) {
      if (at !== this.#now) continue
      const times = this.#ended.get(name) ?? 0
      const { ends } = this.#part(name)
      const status = ends[Math.min(times, ends.length - 1)] ?? 'success'
      this.#end(name, { status, ...(status === 'error' && { reason: 'exit-code' as const }) })
    }
    for (const [name, at] of this.#waiting) if (at === this.#now) this.#decide(name)
    for (const [name, { until, restart }] of this.#pauses) {
      if (until !== this.#now) continue
      this.#pauses.delete(name)
      this.#applyFact({ type: 'step.started', step: name, try: restart.try, at: this.#now, resets: restart.resets })
      this.#beginGroup(this.#part(name))
    }
    for (const [name, at] of this.#limits) if (at === this.#now) this.#expire(name)
  }

  #end(name: string, ended: { status: 'success' | 'error' | 'terminated'; reason?: Reason }): void {
    this.#running.delete(name)
    if (ended.status !== 'terminated') this.#ended.set(name, (this.#ended.get(name) ?? 0) + 1)
    this.#finish(name, ended)
  }

  #decide(step: string): void {
    const { decision } = this.#part(step)
    this.#waiting.delete(step)
    this.#applyFact({ type: 'step.decided', step, decision, by: { name: 'someone', type: 'user' }, at: this.#now })
    if (this.#isPaused) {
      // Everything continues from the decision: a new attempt, without timers of the previous one.
      this.#isPaused = false
      this.#resume({ cause: 'approval', volumeKept: true })
    } else if (decision === 'terminated') this.#cancel('approval-timeout')
  }

  #expire(group: string): void {
    this.#limits.delete(group)
    this.#expired.add(group)
    const inside = stepsInside(this.#plan, group)
    for (const name of this.#running.keys())
      if (inside.has(name) && !isInOnFinish(this.#plan, name)) this.#end(name, { status: 'error', reason: 'timeout' })
  }

  #cancel(reason: Reason): void {
    if (this.#cancelled !== undefined) this.#forced = reason === 'cancelled' || this.#forced
    this.#cancelled ??= reason
    for (const name of this.#running.keys())
      if (this.#forced || !isInOnFinish(this.#plan, name)) this.#end(name, { status: 'terminated', reason })
  }

  #lose(volumeKept: boolean): void {
    if (this.#cancelled !== undefined) return
    this.#running.clear()
    if (!volumeKept) this.#waiting.clear()
    this.#resume({ cause: 'infra', volumeKept })
  }

  #resume(how: { cause: 'infra' | 'approval'; volumeKept: boolean }): void {
    this.#pauses.clear()
    this.#limits.clear()
    this.#expired.clear()
    this.#facts.length = 0
    this.#snapshot = resume(this.#plan, this.#snapshot, how)
    const again = resume(this.#plan, this.#snapshot, { ...how, volumeKept: true })
    if (JSON.stringify(again) !== JSON.stringify(this.#snapshot)) throw new Error('resume is not idempotent')
    this.#cancelled ??= stoppedBy(this.#plan, this.#snapshot)
    for (const part of this.#parts.values())
      if (part.kind === 'group' && this.#snapshot.steps[part.name]?.status === 'running') this.#beginGroup(part)
  }

  #finish(step: string, ended: { status: 'success' | 'error' | 'skipped' | 'terminated'; reason?: Reason | undefined }): void {
    if (['success', 'error', 'skipped', 'terminated'].includes(this.#snapshot.steps[step]?.status ?? ''))
      throw new Error(`${step} ends twice`)
    this.#waiting.delete(step)
    this.#limits.delete(step)
    this.#expired.delete(step)
    const number = this.#snapshot.steps[step]?.try ?? 0
    this.#applyFact({
      type: 'step.finished',
      step,
      try: number,
      at: this.#now,
      members: {},
      exports: [],
      status: ended.status,
      reason: ended.reason,
    })
  }

  /** Folds a fact, and sometimes an old one again, which must change nothing. */
  #applyFact(fact: StepFact): void {
    this.#snapshot = fold(this.#snapshot, fact)
    this.#facts.push(fact)
    const old = this.#next() < 0.2 ? this.#facts[Math.floor(this.#next() * this.#facts.length)] : undefined
    if (old === undefined) return
    const after = fold(this.#snapshot, old)
    if (after !== this.#snapshot) throw new Error(`an old fact changed something: ${JSON.stringify(old)}`)
  }

  #part(name: string): Part {
    const part = this.#parts.get(name)
    if (part === undefined) throw new Error(`no step ${name}`)
    return part
  }
}
