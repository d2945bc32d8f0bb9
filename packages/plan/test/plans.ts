/** Small plans for tests. */
import { decide, foldAll, fold } from '../src/index.ts'
import type { BuildContext, Decision, FreestyleAction, Plan, PlanStep, Reason, Snapshot, StepFact } from '../src/index.ts'

/** Returns a freestyle action with only an image. */
export function freestyle(fields: Partial<FreestyleAction> = {}): FreestyleAction {
  return { kind: 'freestyle', image: 'alpine', shell: 'sh', environment: [], volumes: [], ...fields }
}

/** Returns a step with only a name. */
export function step(name: string, fields: Partial<PlanStep> = {}): PlanStep {
  return {
    name,
    title: name,
    after: [],
    failFast: true,
    strictFailFast: false,
    retry: { maxAttempts: 1, delayMs: 5_000, factor: 1 },
    action: freestyle(),
    position: { line: 1, column: 1 },
    ...fields,
  }
}

/** Returns a serial plan: each root step comes after the previous one. */
export function serial(steps: readonly PlanStep[], fields: Partial<Plan> = {}): Plan {
  const roots = steps.filter(({ parent }) => parent === undefined)
  return {
    planVersion: 1,
    mode: 'serial',
    stages: [],
    failFast: true,
    strictFailFast: false,
    steps: steps.map((one) => {
      const before = roots[roots.indexOf(one) - 1]
      return before === undefined || one.parent !== undefined ? one : { ...one, after: [before.name] }
    }),
    variables: [],
    ...fields,
  }
}

/** The result of each step, by name; success if absent. */
export type Script = Readonly<Record<string, Partial<StepFact & { type: 'step.finished' }>>>

export function finished(name: string, at: number, fields: Partial<StepFact & { type: 'step.finished' }> = {}): StepFact {
  return { type: 'step.finished', step: name, try: 1, at, status: 'success', members: {}, exports: [], ...fields }
}

export interface Played {
  readonly snapshot: Snapshot
  readonly facts: readonly StepFact[]
  /** Names of the steps that ran, in the order in which they started. */
  readonly ran: readonly string[]
  /** `name: status` or `name: status (reason)` of every step. */
  readonly states: readonly string[]
  readonly end: Decision & { type: 'end' }
}

/** Plays a whole build. One step ends at a time, in the order of their starts. Cancels after `cancelAfter` facts. */
export function play(
  plan: Plan,
  start: Snapshot,
  options: { script?: Script; context?: BuildContext; cancelAfter?: number } = {},
): Played {
  const facts: StepFact[] = []
  const ran: string[] = []
  let snapshot = start
  let at = 0
  const tell = (fact: StepFact): void => {
    facts.push(fact)
    snapshot = fold(snapshot, fact)
  }
  const groups = new Set(plan.steps.flatMap(({ parent }) => parent ?? []))
  const running: string[] = []
  let cancelled: Reason | undefined
  for (let rounds = 0; rounds < 10_000; rounds += 1) {
    const isCancel = options.cancelAfter !== undefined && facts.length >= options.cancelAfter && cancelled === undefined
    if (isCancel) {
      cancelled = 'cancelled'
      for (const name of running.splice(0)) tell(finished(name, ++at, { status: 'terminated', reason: 'cancelled' }))
    }
    const decisions = decide(plan, snapshot, { ...options.context, ...(cancelled !== undefined && { cancelled }) })
    for (const decision of decisions) {
      if (decision.type === 'end') return { snapshot, facts, ran, end: decision, states: statesOf(plan, foldAll(start, facts)) }
      if (decision.type === 'finish')
        tell(
          finished(decision.step, ++at, {
            try: 0,
            status: decision.status,
            reason: decision.reason,
            message: decision.message,
            outputs: decision.outputs,
          }),
        )
      if (decision.type === 'start') {
        tell({ type: 'step.started', step: decision.step, try: decision.try, at: ++at })
        if (groups.has(decision.step)) continue
        ran.push(decision.step)
        running.push(decision.step)
      }
    }
    if (cancelled === undefined && facts.length >= (options.cancelAfter ?? Infinity)) continue
    const next = running.shift()
    if (next !== undefined) tell(finished(next, ++at, options.script?.[next]))
  }
  throw new Error('the build did not end')
}

export function statesOf(plan: Plan, snapshot: Snapshot): string[] {
  return plan.steps.map(({ name }) => {
    const state = snapshot.steps[name]
    return `${name}: ${state?.status}${state?.reason === undefined ? '' : ` (${state.reason})`}`
  })
}
