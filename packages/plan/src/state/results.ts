/** Results of steps as the pipeline language names them. The statuses of the API are in `lists.ts`. */
import { isFinalStep } from '../lists.ts'
import type { StepState } from './snapshot.ts'

/** Values allowed in `when.steps[].on`; `finished` is valid only there. */
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

/** Returns `steps.NAME.result` for expressions. For a decided approval this is the decision, from its member `result`. */
export function stepResult(state: StepState): string {
  const decided = Object.hasOwn(state.members, 'result') ? state.members['result'] : undefined
  if (decided !== undefined && isFinalStep(state.status)) return decided
  if (state.status === 'error') return state.reason === 'denied' ? 'denied' : 'failure'
  return state.status === 'waiting' ? 'pending-approval' : state.status
}

/** Returns true if a step in this state matches one of the values of `on`. */
export function matchesResult(state: StepState, on: readonly string[]): boolean {
  const result = stepResult(state)
  const matching = [result]
  if (result === 'approved') matching.push('success')
  if (result === 'denied') matching.push('failure')
  if (state.status === 'success' || state.status === 'error' || state.status === 'skipped') matching.push('finished')
  return matching.some((value) => on.includes(value))
}
