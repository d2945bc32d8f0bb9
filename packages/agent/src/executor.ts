/**
 * The seam between an agent and what carries out its tasks. Three implementations: Kubernetes (`kubernetes/`), a Docker host
 * (`docker.ts`) and a script in place of pods (`fake/`).
 */
import type { Clock, Logger } from '@windlass/kit'
import type { AgentFact, AgentHello, StartTask, StopTask } from '@windlass/protocol'

export interface AttemptRef {
  readonly buildId: string
  readonly attempt: number
}

export interface AttemptLeft extends AttemptRef {
  /** Where it is, for executors of several runtimes. */
  readonly runtime?: string | undefined
  /** Epoch milliseconds after which it is a leftover whatever happened; absent when its objects do not say. */
  readonly expiresAt?: number | undefined
}

/** What an executor saw of an attempt; the agent numbers it, stamps it and sends it until the server has it. */
export type Fact = Omit<AgentFact, 'seq' | 'at'>
export type ReportFact = (fact: Fact) => void

export interface ExecutorContext {
  readonly report: ReportFact
  readonly clock: Clock
  readonly log: Logger
}

/**
 * Contract:
 * - The agent never calls `start` and `stop` of one attempt at the same time; other attempts run side by side.
 * - Everything is idempotent by (build, attempt): a task is repeated after a lost answer, a lapsed lease or a restart of the agent.
 * - `start` resolves when everything of the attempt was created and has its place, not when it runs. It may wait for room until it is
 *   aborted. What becomes of it later is told by facts.
 * - A fault thrown by `start` that is not retryable means: refused for good. Its details may carry `reason` (a protocol reason).
 * - `stop` resolves when nothing of the attempt is left, and also when there never was anything.
 * - When a signal is aborted the call ends soon, may leave things half done, and is repeated or followed by `stop`.
 * - Nothing the executor needs after a restart may live in its memory alone.
 * - `close` stops watching; it leaves attempts running where they outlive the process.
 */
export interface Executor {
  readonly kind: AgentHello['executor']
  start(task: StartTask, signal: AbortSignal): Promise<void>
  stop(task: StopTask, signal: AbortSignal): Promise<void>
  /** Attempts of which something is left, whoever started them. */
  attempts(): Promise<readonly AttemptLeft[]>
  close(): Promise<void>
}

export type OpenExecutor = (context: ExecutorContext) => Executor

/** Key of an attempt in maps and logs. */
export function attemptKey(ref: AttemptRef): string {
  return `${ref.buildId}/${ref.attempt}`
}
