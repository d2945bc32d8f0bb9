/**
 * What a chaos run knows when it is over: what the driver asked, what the engines really did, and what the server says came of it.
 * The first two are the truth; the third is judged against it by `invariants.ts`. Plain values only, so that a history can be written
 * to a file, changed by a mutant, and checked again.
 * All times are epoch milliseconds of the one machine that the run used.
 */
import type { BuildStatus, FinalBuildStatus, FinalStepStatus } from '@windlass/plan'
import type { Attempt, FeedItem } from '@windlass/protocol'

export interface History {
  readonly seed: number
  readonly startedAt: number
  readonly endedAt: number
  readonly limits: Limits
  /** A cancelled build may begin another step for that long after its cancel was accepted; longer in runs that cut the network. */
  readonly cancelReachMs: number
  /** Values that may appear nowhere. */
  readonly secrets: readonly string[]
  readonly operations: readonly Operation[]
  readonly engines: readonly EngineTrace[]
  readonly builds: readonly BuildRecord[]
  /** What readers saw of builds while the run went on, in the order of time. */
  readonly sightings: readonly Sighting[]
  /** Objects of builds that were still there when the run had settled. */
  readonly leftovers: readonly Leftover[]
  /** Further places to look for secrets: a dump of the database, logs of processes. */
  readonly texts: readonly { readonly where: string; readonly text: string }[]
}

/** Most builds of a pipeline, and of a runtime, that may be live at once. */
export interface Limits {
  readonly pipelines: Readonly<Record<string, number>>
  readonly runtimes: Readonly<Record<string, number>>
}

/** `unknown`: no answer came, so it may have happened; asking again with the same key must settle it. */
export type OperationResult = 'ok' | 'fail' | 'unknown'

export type Operation = TriggerOperation | TerminateOperation | DecideOperation

interface OperationBase {
  readonly id: number
  readonly at: number
  readonly endedAt: number
  readonly result: OperationResult
  readonly buildId?: string
  /** Code of the fault that came back. */
  readonly fault?: string
}

export interface TriggerOperation extends OperationBase {
  readonly kind: 'trigger'
  /** Idempotency key, and the branch of the build, by which a build that nobody was told of is found. */
  readonly key: string
  readonly pipeline: string
  readonly runtime: string
  readonly steps: readonly StepShape[]
  /** The build must be final that long after it was asked for. */
  readonly deadlineMs: number
}

export interface TerminateOperation extends OperationBase {
  readonly kind: 'terminate'
}

/** Somebody's word about an approval. Several people may disagree. */
export interface DecideOperation extends OperationBase {
  readonly kind: 'decide'
  readonly step: string
  readonly decision: 'approved' | 'denied'
}

/** What the checker needs of a plan. */
export interface StepShape {
  readonly name: string
  readonly after: readonly string[]
  readonly failFast: boolean
  /** It waits for a person, and runs nothing. */
  readonly isApproval?: boolean
}

/** How an engine left: it said its outcome; it was killed; it was told to stop; the server fenced it off; the claim was refused. */
export type EngineEnd = 'finished' | 'killed' | 'stopped' | 'fenced' | 'refused'

/** One engine process or fake engine, as it saw itself. Without `claimedAt` it never had the right to run. */
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
  /** What it said of its end; heard by the server for sure only when `end` is `finished`. */
  readonly outcome?: FinalBuildStatus | 'pending-approval'
  /** When it first said so: from then on it does no more work. */
  readonly outcomeAt?: number
  readonly steps: readonly StepTrace[]
  readonly streams: Readonly<Record<string, StreamTrace>>
}

export interface StepTrace {
  readonly name: string
  readonly startedAt: number
  readonly finishedAt?: number
  readonly status?: FinalStepStatus
}

export interface StreamTrace {
  /** All bytes the engine made, base64, after masking. */
  readonly generated: string
  /** How many of them the server had acknowledged. */
  readonly ackedBytes: number
}

/** A build as the API tells it after the run. */
export interface BuildRecord {
  readonly id: string
  readonly branch: string
  readonly pipeline: string
  readonly runtime: string
  readonly status: BuildStatus
  readonly reason?: string
  readonly createdAt: number
  readonly finishedAt?: number
  readonly attempts: readonly Pick<Attempt, 'number' | 'status' | 'result' | 'reason'>[]
  readonly feed: readonly FeedItem[]
  /** Bytes of each stream as `GET log` answers them, base64; key `<attempt>/<stream>`. */
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
