/** How jobs ended, for users. */
import type { JobEnd } from '../../trace/trace-sender.ts'
import type { JobOutcome } from './job-view.ts'
import { failureMessage } from '../trace-writer.ts'

/** GitLab does not want the job any more. */
export const CANCELED: JobOutcome = { state: 'canceled', reason: 'job_canceled', message: 'GitLab ended the job' }

/** Returns the outcome of a job whose final state GitLab got. `failure`: why it failed, as the last line of its trace says it. */
export function outcomeOf(end: JobEnd, failure: string | undefined): JobOutcome {
  if (end.state === 'success') return { state: 'success' }
  const { failureReason: reason } = end
  const message = failureMessage(failure ?? '')
  return { state: reason === 'job_canceled' ? 'canceled' : 'failed', reason, message }
}
