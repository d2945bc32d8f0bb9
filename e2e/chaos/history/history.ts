/**
 * The complete record of a chaos run: the requests of the driver, the actual behavior of the engines, and the state that the server reports. The
 * first two are the ground truth; `invariants.ts` checks the third against it. It has only plain values, so that a history can be written to a file,
 * changed by a mutant, and checked again. All times are epoch milliseconds of the single machine of the run.
 */
import type { BuildStatus, FinalBuildStatus, FinalStepStatus } from '@windlass/plan'
import type { Attempt, FeedItem } from '@windlass/protocol'

export interface History {
  readonly seed: number
  readonly startedAt: number
  readonly endedAt: number
  /** Time at which the faults had stopped and every client had its response. Deadlines of builds count from here. Default: the start. */
  readonly calmAt?: number
  readonly limits: Limits
  /** Values that must not appear anywhere. */
  readonly secrets: readonly string[]
  readonly operations: readonly Operation[]
  readonly engines: readonly EngineTrace[]
  readonly builds: readonly BuildRecord[]
  /** Observations of builds during the run, in chronological order. */
  readonly sightings: readonly Sighting[]
  /** Times at which the servers answered those observations: a clock that slows down with the servers. */
  readonly looks?: readonly number[]
  /** Objects of builds that remained after the run had settled. */
  readonly leftovers: readonly Leftover[]
  /** Further places to search for secrets: a dump of the database, logs of processes. Each character of a text is one byte (latin1). */
  readonly texts: readonly { readonly where: string; readonly text: string }[]
  /** Harm to builds that may have cost them an attempt. Nothing else may. Absent if unknown. */
  readonly harms?: readonly Harm[]
  /** What retention deleted. Absent if it was not active. */
  readonly retention?: RetentionTrace
}

export interface RetentionTrace {
  /** Ages from which logs and builds are deleted. Milliseconds. */
  readonly logMs: number
  readonly buildMs: number
  readonly removed: readonly Removal[]
  readonly expired: readonly Removal[]
}

/** A build or log that was found to be deleted. */
export interface Removal {
  readonly buildId: string
  /** Absent if the build was never seen ended. */
  readonly finishedAt?: number | undefined
  /** Time at which the build was last listed. */
  readonly seenAt: number
  /** Time at which it was found to be missing. */
  readonly at: number
}

/**
 * The loss of an engine: a kill, a crash that the script requested, or a period in which no server could hear it. Outages of servers and databases
 * and deaths of agents are not harm, because builds must survive them.
 */
export interface Harm {
  readonly what: string
  /** The attempt that was hit. If absent, all attempts that were live in the period. */
  readonly buildId?: string
  readonly attempt?: number
  readonly from: number
  readonly to: number
}

/** Maximum number of live builds at once. */
export interface Limits {
  readonly pipelines: Readonly<Record<string, number>>
  readonly runtimes: Readonly<Record<string, number>>
  /** Limits of each branch and each trigger of a pipeline, by the name of the pipeline. */
  readonly branches?: Readonly<Record<string, number>>
  readonly triggers?: Readonly<Record<string, number>>
  /** Limit of all builds. */
  readonly account?: number
}

/** `unknown`: no response arrived, so it may have happened. A repetition with the same key must resolve it. */
export type OperationResult = 'ok' | 'fail' | 'unknown'

export type Operation = TriggerOperation | TerminateOperation | DecideOperation

interface OperationBase {
  readonly id: number
  readonly at: number
  readonly endedAt: number
  readonly result: OperationResult
  readonly buildId?: string
  /** Code of the returned fault. */
  readonly fault?: string
}

export interface TriggerOperation extends OperationBase {
  readonly kind: 'trigger'
  /** Idempotency key, and the revision of the build. The revision identifies a build whose response was lost. */
  readonly key: string
  readonly pipeline: string
  readonly runtime: string
  readonly steps: readonly StepShape[]
  /** True if steps of another build started it with their key. */
  readonly isChild?: boolean
  /** Time after the request within which the build must be final. */
  readonly deadlineMs: number
}

export interface TerminateOperation extends OperationBase {
  readonly kind: 'terminate'
}

/** A decision of a user about an approval. Several users may disagree. */
export interface DecideOperation extends OperationBase {
  readonly kind: 'decide'
  readonly step: string
  readonly decision: 'approved' | 'denied'
}

/** The part of a plan that the checker needs. */
export interface StepShape {
  readonly name: string
  readonly after: readonly string[]
  readonly failFast: boolean
  /** An approval; it runs nothing. */
  readonly isApproval?: boolean
}

/** How an engine ended: it reported its outcome; it was killed; it was told to stop; the server fenced it off; the claim was refused. */
export type EngineEnd = 'finished' | 'killed' | 'stopped' | 'fenced' | 'refused'

/** One engine process or fake engine, from its own view. Without `claimedAt` it never had the right to run. */
export interface EngineTrace {
  readonly instance: string
  readonly buildId: string
  readonly attempt: number
  readonly startedAt: number
  readonly claimedAt?: number
  readonly endedAt?: number
  readonly end?: EngineEnd
  readonly volumeKept: boolean
  readonly disk?: string
  /** The outcome that it reported. The server has certainly received it only if `end` is `finished`. */
  readonly outcome?: FinalBuildStatus | 'pending-approval'
  /** Time of its first report of the outcome. From then on it does no more work. */
  readonly outcomeAt?: number
  readonly steps: readonly StepTrace[]
  /** The events of its steps that it sent, in order. Absent if they were not recorded. */
  readonly told?: readonly ToldEvent[]
  /** The server acknowledged the events up to this number. */
  readonly ackedSeq?: number
  readonly streams: Readonly<Record<string, StreamTrace>>
  /** Its answered calls for commands. Absent if they were not recorded. */
  readonly polls?: readonly PollTrace[]
}

/** A call for commands. The response to a call that began after a cancel was accepted carries the cancel. */
export interface PollTrace {
  readonly begunAt: number
  readonly answeredAt: number
}

export interface StepTrace {
  readonly name: string
  /** The outcome without interference, if known. */
  readonly verdict?: 'success' | 'error'
  readonly startedAt: number
  readonly finishedAt?: number
  readonly status?: FinalStepStatus
}

/** `status` is set at the end of a step. */
export interface ToldEvent {
  readonly seq: number
  readonly type: string
  readonly step: string
  readonly status?: string
}

export interface StreamTrace {
  /** All bytes that the engine produced, base64, after masking. */
  readonly generated: string
  /** Number of bytes that the server acknowledged. */
  readonly ackedBytes: number
}

/** A build as the API returns it after the run. */
export interface BuildRecord {
  readonly id: string
  /** The key of its trigger. */
  readonly key: string
  readonly branch?: string
  readonly trigger?: string
  readonly pipeline: string
  readonly runtime: string
  readonly status: BuildStatus
  readonly reason?: string
  readonly createdAt: number
  readonly finishedAt?: number
  readonly attempts: readonly Pick<Attempt, 'number' | 'status' | 'result' | 'reason'>[]
  readonly feed: readonly FeedItem[]
  /** Bytes of each stream as `GET log` returns them, base64; key `<attempt>/<stream>`. */
  readonly logs: Readonly<Record<string, string>>
}

export interface Sighting {
  readonly at: number
  readonly buildId: string
  readonly status: BuildStatus
  readonly reason?: string
}

export interface Leftover {
  readonly buildId: string
  readonly object: string
}

/** `invariant`: its number in the list that `invariants.ts` documents. */
export interface Violation {
  readonly invariant: number
  readonly buildId?: string
  readonly message: string
}

export function isTrigger(operation: Operation): operation is TriggerOperation {
  return operation.kind === 'trigger'
}
