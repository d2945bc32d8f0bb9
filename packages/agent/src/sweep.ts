/**
 * Removes leftovers of attempts. Normally the server answers a hello with stop tasks for attempts that are over, so that two sources agree: the
 * labels of the objects and the record of the server. In case the server has lost its record, objects whose `windlass.io/expires` has passed are
 * removed without a task, at most a fifth of all attempts per round, so that a wrong clock cannot empty a cluster.
 */
import { attempt as tick, type Clock, type Logger } from '@windlass/kit'
import type { AttemptLeft, Executor } from './executor.ts'
import type { TaskTable } from './tasks.ts'

export interface SweepOptions {
  readonly executor: Executor
  readonly tasks: TaskTable
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

const SHARE = 0.2

/** Stops expired attempts that have no task in progress. Called once per round with all attempts that are left. */
export async function sweepExpired(
  { executor, tasks, clock, log, signal }: SweepOptions,
  left: readonly AttemptLeft[],
): Promise<void> {
  const now = clock.now()
  const expired = left.filter((ref) => ref.expiresAt !== undefined && ref.expiresAt < now && !tasks.has(ref))
  for (const ref of expired.slice(0, Math.max(1, Math.floor(left.length * SHARE)))) {
    log.warn({ buildId: ref.buildId, attempt: ref.attempt }, 'removing an expired attempt')
    await tick(log, 'sweep', () => executor.stop(stopOf(ref), signal))
  }
}

function stopOf({ buildId, attempt, runtime = '' }: AttemptLeft): Parameters<Executor['stop']>[0] {
  return { kind: 'stop-attempt', id: buildId, revision: 1, buildId, attempt, runtime, leaseMs: 60_000, graceMs: 0 }
}
