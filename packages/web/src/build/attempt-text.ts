/** How attempts of a build ended, as sentences. Pure. */
import { textOfReason } from '@windlass/plan'
import type { Attempt } from '@windlass/protocol'
import { formatClock } from '../looks/time.ts'

/** Returns true for an attempt that ended without the end of its engine. */
export function isLost({ reason, retryDecision }: Attempt): boolean {
  return retryDecision !== undefined && reason !== undefined
}

/** What followed the loss of an attempt. */
const AFTER_LOSS: Readonly<Record<string, string>> = {
  retried: 'The build continued in another attempt.',
  permanent: 'Another attempt would not have helped.',
  exhausted: 'The retries of the runtime were used up.',
  poison: 'The build lost its engine too often in a row.',
  terminating: 'The build was ending already.',
}

/** States whose name makes no sentence. */
const STATES: Readonly<Record<string, string>> = { running: 'runs', suspect: 'has not reported for a while' }

/** Returns how an attempt ended, in the words of the cluster where there are some. */
export function sentenceOfAttempt(attempt: Attempt): string {
  const { number, status, result, reason, message, startedAt, endedAt, retryDecision } = attempt
  const why = message ?? textOfReason(reason)
  const code = reason === undefined || message === undefined ? '' : ` (${reason})`
  const cause = why === undefined ? '' : `${code}: ${why}`
  const time = startedAt === undefined || endedAt === undefined ? '' : ` after ${formatClock(endedAt - startedAt)}`
  if (isLost(attempt)) return stopped(`Attempt ${number} was lost${time}${cause}`) + ` ${AFTER_LOSS[retryDecision ?? ''] ?? ''}`
  if (status === 'ended') return stopped(`Attempt ${number} ended${time}${result === undefined ? '' : ` with ${result}`}`)
  return stopped(`Attempt ${number} ${STATES[status] ?? `is ${status}`}${cause}`)
}

function stopped(text: string): string {
  return /[.!?]$/.test(text) ? text : `${text}.`
}
