/** Adaptive number of requests that a runner entry makes at the same time. Rule of the runner of GitLab. */
import type { JobRequestResult } from '../coordinator/job-request.ts'

/** Returns the limit after an answer: jobs raise it, empty answers lower it slowly, and a busy server halves it. Between 1 and `max`. */
export function requestLimitAfter(
  limit: number,
  { outcome, pushedBack }: Pick<JobRequestResult, 'outcome' | 'pushedBack'>,
  max: number,
): number {
  const factor = pushedBack ? 0.5 : outcome === 'job' ? 1.1 : outcome === 'none' ? 0.95 : 1
  return Math.min(Math.max(limit * factor, 1), Math.max(max, 1))
}
