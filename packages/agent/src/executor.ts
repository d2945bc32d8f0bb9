/**
 * The interface between an agent and the environment in which it carries out tasks. Implementations: Kubernetes (`kubernetes/`), a Docker
 * host (`docker.ts`), and one for tests (`e2e/support/fake-engines`).
 */
import type { Clock, Logger } from '@windlass/kit'
import type { AgentFact, AgentHello, AgentJob, DiskFacts, DiskReport, JobResult, StartTask, StopTask } from '@windlass/protocol'

export interface AttemptRef {
  readonly buildId: string
  readonly attempt: number
}

export interface AttemptLeft extends AttemptRef {
  /** Runtime of the attempt, for executors of several runtimes. */
  readonly runtime?: string | undefined
  /** Time after which its objects are leftovers in any case, epoch milliseconds; absent if its objects have no such label. */
  readonly expiresAt?: number | undefined
}

/** An observation of an executor about an attempt. The agent adds a number and a time and sends it until the server acknowledges it. */
export type Fact = Omit<AgentFact, 'seq' | 'at'>
export type ReportFact = (fact: Fact) => void

export interface ExecutorContext {
  readonly report: ReportFact
  readonly clock: Clock
  readonly log: Logger
}

export interface DiskRef {
  readonly runtime: string
  /** Name of the volume. */
  readonly name: string
  readonly uid: string
}

export interface FoundDisks {
  readonly disks: readonly DiskFacts[]
  /** Runtimes whose disks could not be read. */
  readonly failed: DiskReport['failed']
}

type ResultOf<K extends JobResult['kind']> = Omit<Extract<JobResult, { kind: K }>, 'kind'>
export type RemovedDisk = ResultOf<'remove-disk'>
export type FoundFindings = ResultOf<'check-agent'>['findings']
export type AgentCheckJob = Extract<AgentJob, { kind: 'check-agent' }>
export type ContextCheckJob = Extract<AgentJob, { kind: 'check-context' }>

/** An object that builds of a runtime may mount. */
export interface DataRef {
  readonly runtime: string
  readonly namespace: string
  readonly kind: 'Secret' | 'ConfigMap'
  readonly name: string
}

/** The disks that builds leave for later builds. */
export interface ExecutorDisks {
  /** Lists the disks of the runtimes that the agent serves. */
  list(signal: AbortSignal): Promise<FoundDisks>
  /** Requests the removal of a disk unless a build has it. Can be repeated. */
  remove(disk: DiskRef, signal: AbortSignal): Promise<RemovedDisk>
}

/**
 * Contract:
 * - The agent never calls `start` and `stop` of one attempt at the same time; other attempts run side by side.
 * - Everything is idempotent by (build, attempt): a task is repeated after a lost answer, an expired lease or a restart of the agent.
 * - `start` resolves when all objects of the attempt are created and its pods have nodes, not when it runs. It may wait for other
 *   starts and for room until it is aborted. Later changes are reported as facts.
 * - A fault of `start` that is not retryable refuses the attempt permanently. Its details may carry `reason` (a protocol reason).
 * - `stop` resolves when no object of the attempt is left, also if there never was one.
 * - When its signal is aborted, a call ends soon and may leave partial results; it is repeated or followed by `stop`.
 * - State that the executor needs after a restart must not be in memory only.
 * - `close` stops watching; it leaves attempts running if they can outlive the process.
 */
export interface Executor {
  readonly kind: AgentHello['executor']
  start(task: StartTask, signal: AbortSignal): Promise<void>
  stop(task: StopTask, signal: AbortSignal): Promise<void>
  /** Returns the attempts that still have objects, whichever process started them. */
  attempts(): Promise<readonly AttemptLeft[]>
  /** Absent if builds leave no disks. */
  readonly disks?: ExecutorDisks
  /** Checks the environment of builds, of the runtimes in the job. Changes nothing. */
  check?(job: AgentCheckJob, signal: AbortSignal): Promise<FoundFindings>
  /**
   * Reads the data of a Secret, encoded as it is stored, or of a ConfigMap; undefined if it does not exist. Throws `policy-refused` for one that builds may
   * not use. Absent if builds run outside of a cluster.
   */
  readData?(object: DataRef, signal: AbortSignal): Promise<Readonly<Record<string, string>> | undefined>
  /** Returns the end of the log of an attempt's engine, or undefined if there is none. */
  lastLog?(
    ref: AttemptRef & { readonly runtime: string },
    signal: AbortSignal,
  ): Promise<{ readonly object: string; readonly text: string } | undefined>
  close(): Promise<void>
}

export type OpenExecutor = (context: ExecutorContext) => Executor

/** Returns the key of an attempt for maps and logs. */
export function attemptKey(ref: AttemptRef): string {
  return `${ref.buildId}/${ref.attempt}`
}
