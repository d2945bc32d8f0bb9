/** The words that the language has for the states of steps and builds; the API has its own (`lists.ts`). */
import { isFinalStep } from './lists.ts'
import type { StepState } from './snapshot.ts'

/** Words allowed in `when.steps[].on`. `finished` is good only there. */
export const STEP_RESULTS = [
  'success',
  'running',
  'failure',
  'skipped',
  'pending',
  'terminating',
  'terminated',
  'finished',
  'approved',
  'denied',
] as const
export type StepResult = (typeof STEP_RESULTS)[number]

/** `steps.NAME.result` as expressions see it. An approval tells its decision in its member `result`. */
export function stepResult(state: StepState): string {
  const decided = Object.hasOwn(state.members, 'result') ? state.members['result'] : undefined
  if (decided !== undefined && isFinalStep(state.status)) return decided
  if (state.status === 'error') return state.reason === 'denied' ? 'denied' : 'failure'
  return state.status === 'waiting' ? 'pending-approval' : state.status
}

/** True when a step in this state satisfies one of the words of `on`. */
export function matchesResult(state: StepState, on: readonly string[]): boolean {
  const result = stepResult(state)
  const words = [result]
  if (result === 'approved') words.push('success')
  if (result === 'denied') words.push('failure')
  if (state.status === 'success' || state.status === 'error' || state.status === 'skipped') words.push('finished')
  return words.some((word) => on.includes(word))
}
