/** When a runner entry may be polled again after bad answers. */
import { backoffMs } from '@windlass/kit'
import type { JobRequestResult } from '../coordinator/job-request.ts'

export interface HealthLimits {
  /** Number of refusals in a row after which the entry is paused. Default: 3. */
  readonly unhealthyRequestsLimit?: number | undefined
  /** How long it is paused. Milliseconds. Default: 1 hour. */
  readonly unhealthyIntervalMs?: number | undefined
}

export interface Health {
  /** Refusals of the token in a row. */
  readonly refusals: number
  /** Other failures in a row: no answer, or an error of the server. */
  readonly failures: number
  /** Monotonic time at which the entry may be polled again. Milliseconds. */
  readonly pausedUntil: number
}

export const HEALTHY: Health = { refusals: 0, failures: 0, pausedUntil: 0 }

/**
 * Delays after failures of the server or the network. A server that is back after an upgrade is polled again within two minutes; only a token that is
 * refused pauses an entry for long.
 */
const BACKOFF = { baseMs: 3_000, maxMs: 2 * 60_000 }

/** Returns the health after an answer. A refusal after a pause starts the next pause at once. `now` is monotonic. */
export function healthAfter(health: Health, outcome: JobRequestResult['outcome'], limits: HealthLimits, now: number): Health {
  if (outcome === 'failed') {
    const failures = health.failures + 1
    return { ...health, failures, pausedUntil: now + backoffMs(BACKOFF, failures) }
  }
  if (outcome !== 'forbidden') return HEALTHY
  const { unhealthyRequestsLimit = 3, unhealthyIntervalMs = 60 * 60_000 } = limits
  const refusals = health.refusals + 1
  return { refusals, failures: 0, pausedUntil: refusals >= unhealthyRequestsLimit ? now + unhealthyIntervalMs : 0 }
}
