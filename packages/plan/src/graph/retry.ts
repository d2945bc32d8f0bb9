/** Decides whether a failed step runs again, and after what delay. */
import { isInfra } from '../lists.ts'
import type { Reason } from '../lists.ts'
import type { Retry } from '../plan.ts'
import type { StepState } from '../state/snapshot.ts'

/** Maximum delay between two tries. */
export const LONGEST_RETRY_DELAY_MS = 600_000

/** Failures that would repeat on every try. */
const NOT_RETRIED: readonly Reason[] = ['condition-error', 'denied', 'integration-missing', 'invalid-step', 'mount-invalid']

/**
 * Returns the next try and its delay, or undefined if the step is not retried. Each delay is the previous one in seconds to the power of the
 * factor, at most ten minutes. Infrastructure losses are not retried here but as a new attempt.
 */
export function nextTry(
  step: { readonly retry: Retry },
  ended: Pick<StepState, 'status' | 'reason' | 'try'>,
): { try: number; delayMs: number } | undefined {
  const { maxAttempts, delayMs, factor } = step.retry
  if (ended.status !== 'error' || ended.try >= maxAttempts) return undefined
  if (ended.reason !== undefined && (NOT_RETRIED.includes(ended.reason) || isInfra(ended.reason))) return undefined
  let seconds = delayMs / 1_000
  for (let done = 1; done < ended.try && seconds * 1_000 < LONGEST_RETRY_DELAY_MS; done += 1) seconds **= factor
  return { try: ended.try + 1, delayMs: Math.min(Math.round(seconds * 1_000), LONGEST_RETRY_DELAY_MS) }
}
