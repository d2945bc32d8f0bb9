/** Which steps may still start while a build is ending. */
import type { Reason } from '../lists.ts'
import type { Node } from './shape.ts'

/** Returns true for a step that a cancel ended or skipped. */
export function isStopped(state: { status: string; reason?: Reason }, cancelled: Reason | undefined): boolean {
  return state.status === 'terminated' || (state.status === 'skipped' && cancelled !== undefined && state.reason === cancelled)
}

/** Returns the parts of a `when` that a failed or finished step satisfies. */
export function failureConditionsOf({ step }: Node): { name: string; on: readonly string[] }[] {
  return (step.when?.steps?.of ?? [])
    .map(({ name, on }) => ({ name, on: on.filter((word) => ['failure', 'finished', 'denied', 'terminated'].includes(word)) }))
    .filter(({ on }) => on.length > 0)
}
