/**
 * Removes what is left of attempts that are over. Two facts must agree twice: the objects carry our labels, and the server says at two
 * hellos in a row that the attempt is over. At most a fifth of the attempts in one round, so that a server with an old database cannot
 * empty a cluster.
 */
import { attempt as tick, type Logger } from '@windlass/kit'
import { labelValue, type AgentWelcome } from '@windlass/protocol'
import { attemptKey, type AttemptRef, type Executor } from './executor.ts'
import type { TaskTable } from './tasks.ts'

export interface SweepOptions {
  readonly executor: Executor
  readonly tasks: TaskTable
  readonly log: Logger
  readonly signal: AbortSignal
}

const SHARE = 0.2

/** What a hello found: the attempts that were named in it, and the answer. */
export interface Comparison {
  readonly seen: readonly AttemptRef[]
  readonly welcome: AgentWelcome
}

/** Gives a function to call after each hello; it stops leftovers in the background. */
export function openSweep({ executor, tasks, log, signal }: SweepOptions): (comparison: Comparison) => void {
  let suspects = new Set<string>()
  return ({ seen, welcome }) => {
    const served = new Set(welcome.runtimes.map(labelValue))
    const isOurs = (ref: AttemptRef): boolean => ref.runtime === undefined || served.has(ref.runtime)
    const ours = new Set(seen.filter(isOurs).map(attemptKey))
    const over = (welcome.over ?? []).filter((ref) => ours.has(attemptKey(ref)) && !tasks.has(ref))
    const confirmed = over.filter((ref) => suspects.has(attemptKey(ref)))
    suspects = new Set(over.map(attemptKey))
    for (const ref of confirmed.slice(0, Math.max(1, Math.ceil(seen.length * SHARE)))) {
      log.info({ ...ref }, 'sweeping what is left of an attempt')
      void tick(log, 'sweep', () => executor.stop(stopOf(ref), signal))
    }
  }
}

function stopOf(ref: AttemptRef): Parameters<Executor['stop']>[0] {
  return { kind: 'stop-attempt', id: ref.buildId, revision: 1, ...ref, runtime: '', leaseMs: 60_000, graceMs: 0 }
}
