/** What a response of the server means for the caller. The data is in `fault-table.ts`: `ends` and `retry`. */
import { faults, isFault, type Fault, type FaultSpec, type Work } from '../faults.ts'

/**
 * Returns true if the error ends this work permanently. Only our own server can end work. After the error page of a proxy, an internal error, a
 * full disk or a timeout the caller retries.
 */
export function endsWork(work: Work, error: unknown): error is Fault {
  if (!isFault(error) || error.details.foreign === true) return false
  const { ends }: FaultSpec = faults[error.code]
  return ends?.includes(work) === true
}

/** Returns true if our server refused the request and would refuse it again. An internal error is not a refusal: another replica may succeed. */
export function isRefusal(error: unknown): error is Fault {
  return isFault(error) && error.details.foreign !== true && !error.retryable && error.code !== 'internal'
}
