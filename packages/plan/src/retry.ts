/** When a failed step is tried again, and after what pause (pipeline language 3.8). */
import { isInfra } from './lists.ts'
import type { Reason } from './lists.ts'
import type { Retry } from './plan.ts'
import type { StepState } from './snapshot.ts'

/** The longest pause between two tries, whatever the factor makes of it. */
export const LONGEST_RETRY_DELAY_MS = 600_000

/** Failures that the same step would meet again in the same place, whatever the number of tries. */
const HOPELESS: readonly Reason[] = ['condition-error', 'denied', 'integration-missing', 'invalid-step', 'mount-invalid']

/**
 * Whether a try that ended is repeated, and after what pause (pipeline language 3.8: each pause is the one before, in seconds, to the power of
 * the factor; at most ten minutes). Only failures are; a loss of infrastructure is repeated as a new attempt, not here.
 */
export function nextTry(
  step: { readonly retry: Retry },
  ended: Pick<StepState, 'status' | 'reason' | 'try'>,
): { try: number; delayMs: number } | undefined {
  const { maxAttempts, delayMs, factor } = step.retry
  if (ended.status !== 'error' || ended.try >= maxAttempts) return undefined
  if (ended.reason !== undefined && (HOPELESS.includes(ended.reason) || isInfra(ended.reason))) return undefined
  let seconds = delayMs / 1_000
  for (let done = 1; done < ended.try && seconds * 1_000 < LONGEST_RETRY_DELAY_MS; done += 1) seconds **= factor
  return { try: ended.try + 1, delayMs: Math.min(Math.round(seconds * 1_000), LONGEST_RETRY_DELAY_MS) }
}
