/** Folds step facts into a snapshot. Facts may come twice or late; a final step never changes. */
import { isFinalStep } from '../lists.ts'
import type { Plan } from '../plan.ts'
import type { ExportedVariable, Snapshot, StepFact, StepState } from './snapshot.ts'

export const PENDING: StepState = Object.freeze({
  status: 'pending',
  try: 0,
  members: Object.freeze({}),
  output: Object.freeze({}),
})

/** Returns the snapshot before the first fact: every step is pending. */
export function emptySnapshot(plan: Plan): Snapshot {
  return { steps: Object.fromEntries(plan.steps.map(({ name }) => [name, PENDING])), exports: [] }
}

/** Returns the state of a step; pending if there is no fact about it. */
export function stateOf(snapshot: Snapshot, step: string): StepState {
  return (Object.hasOwn(snapshot.steps, step) ? snapshot.steps[step] : undefined) ?? PENDING
}

/** Applies one fact. Facts about final steps and duplicate facts change nothing. */
export function fold(snapshot: Snapshot, fact: StepFact): Snapshot {
  return foldAll(snapshot, [fact])
}

/** Applies many facts in the given order. Copies the steps once, so that the cost does not grow with the product of steps and facts. */
export function foldAll(snapshot: Snapshot, facts: Iterable<StepFact>): Snapshot {
  let { exports } = snapshot
  let steps: Map<string, StepState> | undefined
  for (const fact of facts) {
    const before = steps?.get(fact.step) ?? stateOf(snapshot, fact.step)
    if (isFinalStep(before.status) || fact.at < (before.resetAt ?? -Infinity)) continue
    const after = apply(before, fact)
    if (after === before) continue
    steps ??= new Map(Object.entries(snapshot.steps))
    steps.set(fact.step, after)
    const resets = fact.type === 'step.started' && fact.try > before.try ? (fact.resets ?? []) : []
    for (const name of resets) steps.set(name, { ...PENDING, resetAt: fact.at })
    if (resets.length > 0) exports = forget(exports, new Set(resets))
    if (fact.type === 'step.finished') exports = mergeExports(exports, fact)
  }
  return steps === undefined ? snapshot : { ...snapshot, steps: Object.fromEntries(steps), exports }
}

function forget(exports: readonly ExportedVariable[], steps: ReadonlySet<string>): readonly ExportedVariable[] {
  return exports.filter(({ step }) => step === undefined || !steps.has(step))
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

/** Sets the status to running or waiting, whichever began later. */
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
    ...(fact.hint !== undefined && { hint: fact.hint }),
    ...(fact.exitCode !== undefined && { exitCode: fact.exitCode }),
    ...(fact.usage !== undefined && { usage: fact.usage }),
    ...(fact.image !== undefined && { image: fact.image }),
    try: Math.max(fact.try, state.try),
    ...(state.startedAt !== undefined && { startedAt: state.startedAt }),
    ...(state.runningSince !== undefined && { runningSince: state.runningSince }),
    ...(state.waitingSince !== undefined && { waitingSince: state.waitingSince }),
    ...(state.resetAt !== undefined && { resetAt: state.resetAt }),
    finishedAt: fact.at,
    members: fact.members,
    ...(fact.sealed !== undefined && { sealed: fact.sealed }),
    output: { ...Object.fromEntries(fact.exports.map(({ name, value }) => [name, value])), ...fact.outputs },
  }
}

/** Keeps exports in the order in which their steps finished, regardless of the order of the facts. */
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
