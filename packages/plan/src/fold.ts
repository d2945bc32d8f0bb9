/**
 * What is known of a build, from its plan and the facts about its steps. Facts may come twice or late: a step that is final stays as it is.
 */
import { isFinalStep } from './lists.ts'
import type { Plan, PlanStep } from './plan.ts'
import type { ExportedVariable, Snapshot, StepFact, StepState } from './snapshot.ts'

const PENDING: StepState = Object.freeze({ status: 'pending', try: 0, members: Object.freeze({}), output: Object.freeze({}) })

/** The snapshot before the first fact: every step pending. */
export function emptySnapshot(plan: Plan): Snapshot {
  return { steps: Object.fromEntries(plan.steps.map(({ name }) => [name, PENDING])), exports: [] }
}

/** The state of a step; pending when nothing is known of it. */
export function stateOf(snapshot: Snapshot, step: string): StepState {
  return (Object.hasOwn(snapshot.steps, step) ? snapshot.steps[step] : undefined) ?? PENDING
}

/** The snapshot after one more fact. Facts of steps that are final already, and facts told twice, change nothing. */
export function fold(snapshot: Snapshot, fact: StepFact): Snapshot {
  const before = stateOf(snapshot, fact.step)
  if (isFinalStep(before.status)) return snapshot
  const after = apply(before, fact)
  if (after === before) return snapshot
  const steps = { ...snapshot.steps, [fact.step]: after }
  return { steps, exports: fact.type === 'step.finished' ? mergeExports(snapshot.exports, fact) : snapshot.exports }
}

/** Folds many facts in the order given. */
export function foldAll(snapshot: Snapshot, facts: Iterable<StepFact>): Snapshot {
  let current = snapshot
  for (const fact of facts) current = fold(current, fact)
  return current
}

function apply(state: StepState, fact: StepFact): StepState {
  switch (fact.type) {
    case 'step.started': {
      const runningSince = Math.max(fact.at, state.runningSince ?? fact.at)
      if (fact.try <= state.try && runningSince === state.runningSince) return state
      const startedAt = Math.min(fact.at, state.startedAt ?? fact.at)
      return settle({ ...state, try: Math.max(fact.try, state.try), startedAt, runningSince })
    }
    case 'step.waiting': {
      if (state.waitingSince !== undefined && fact.at <= state.waitingSince) return state
      return settle({ ...state, waitingSince: fact.at, reason: fact.reason })
    }
    case 'step.decided':
      return decided(state, fact)
    case 'step.finished':
      return finished(state, fact)
  }
}

function decided(state: StepState, fact: StepFact & { type: 'step.decided' }): StepState {
  const { decision, by } = fact
  const status = ({ approved: 'success', denied: 'error', terminated: 'terminated' } as const)[decision]
  const reason = ({ approved: undefined, denied: 'denied', terminated: 'approval-timeout' } as const)[decision]
  const { reason: _waited, ...rest } = state
  return {
    ...rest,
    status,
    ...(reason !== undefined && { reason }),
    ...(decision === 'denied' && { message: `Denied by ${by.name}.` }),
    finishedAt: fact.at,
    members: { ...state.members, result: decision, 'authEntity.name': by.name, 'authEntity.type': by.type },
  }
}

/** Running or waiting, whichever was told of the later moment. */
function settle(state: StepState): StepState {
  const waiting = state.waitingSince !== undefined && state.waitingSince >= (state.runningSince ?? -Infinity)
  if (waiting) return { ...state, status: 'waiting' }
  const { reason: _over, ...running } = state
  return { ...running, status: 'running' }
}

function finished(state: StepState, fact: StepFact & { type: 'step.finished' }): StepState {
  return {
    status: fact.status,
    ...(fact.reason !== undefined && { reason: fact.reason }),
    ...(fact.message !== undefined && { message: fact.message }),
    ...(fact.exitCode !== undefined && { exitCode: fact.exitCode }),
    try: Math.max(fact.try, state.try),
    ...(state.startedAt !== undefined && { startedAt: state.startedAt }),
    ...(state.runningSince !== undefined && { runningSince: state.runningSince }),
    ...(state.waitingSince !== undefined && { waitingSince: state.waitingSince }),
    finishedAt: fact.at,
    members: fact.members,
    output: { ...Object.fromEntries(fact.exports.map(({ name, value }) => [name, value])), ...fact.outputs },
  }
}

/** Keeps exports in the order in which their steps finished, whatever the order in which the facts came. */
function mergeExports(
  exports: readonly ExportedVariable[],
  fact: StepFact & { type: 'step.finished' },
): readonly ExportedVariable[] {
  if (fact.exports.length === 0) return exports
  const added = fact.exports.map((variable) => ({ ...variable, step: fact.step, at: fact.at }))
  const isEarlier = ({ at = -Infinity, step = '' }: ExportedVariable) => at < fact.at || (at === fact.at && step <= fact.step)
  const place = exports.findLastIndex(isEarlier) + 1
  return [...exports.slice(0, place), ...added, ...exports.slice(place)]
}

export interface ResumeOptions {
  /** False when the shared volume of the attempt before is lost, so that nothing the steps left behind can be relied on. */
  readonly volumeKept: boolean
  /** Run this step again, and all that comes after it. */
  readonly from?: string | undefined
}

/**
 * Where a new attempt goes on: the snapshot with the steps that have to run again back to pending, their exports forgotten.
 * Running and waiting ones always; every step when the volume is lost; with `from`, that step and what follows it. Steps that the run was
 * asked to leave out stay out.
 */
export function resume(plan: Plan, snapshot: Snapshot, options: ResumeOptions): Snapshot {
  const again = new Set(
    plan.steps.filter(({ name }) => !options.volumeKept || !isFinalStep(stateOf(snapshot, name).status)).map(({ name }) => name),
  )
  if (options.from !== undefined) addFollowers(plan, options.from, again)
  for (const { name } of plan.steps) if (stateOf(snapshot, name).reason === 'not-selected') again.delete(name)
  for (const step of plan.steps) if (again.has(step.name)) addParents(plan, step, again)
  return {
    steps: Object.fromEntries(plan.steps.map(({ name }) => [name, again.has(name) ? PENDING : stateOf(snapshot, name)])),
    exports: snapshot.exports.filter(({ step }) => (step === undefined ? options.volumeKept : !again.has(step))),
  }
}

/** Adds `from`, the steps inside it, and every step that comes after one of them or after a group around one, or asks about one in its `when`. */
function addFollowers(plan: Plan, from: string, again: Set<string>): void {
  const found = new Set([from])
  const around = new Set<string>()
  for (let before = 0; before < found.size;) {
    before = found.size
    for (const step of plan.steps) if (found.has(step.name)) addParents(plan, step, around)
    for (const step of plan.steps) {
      const asked = [...step.after, ...(step.when?.steps?.of.map(({ name }) => name) ?? [])]
      const isInside = step.parent !== undefined && found.has(step.parent)
      if (isInside || asked.some((name) => found.has(name) || around.has(name))) found.add(step.name)
    }
  }
  for (const name of found) again.add(name)
}

function addParents(plan: Plan, step: PlanStep, again: Set<string>): void {
  for (let name = step.parent; name !== undefined; name = plan.steps.find((other) => other.name === name)?.parent) again.add(name)
}
