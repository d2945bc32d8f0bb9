/** The state of a running build, folded from its step events by engine and server alike. A new attempt continues from it. */
import type { Reason, StepStatus } from '../lists.ts'

/** Sizes in bytes, CPU time in milliseconds. */
export interface StepUsage {
  readonly memoryPeakBytes?: number | undefined
  readonly memoryLimitBytes?: number | undefined
  readonly cpuMs?: number | undefined
  readonly readBytes?: number | undefined
  readonly writtenBytes?: number | undefined
}

/** The image that the container of a step used. */
export interface StepImage {
  readonly name: string
  /** `sha256:...` of the manifest at its registry; absent for an image that was never pulled or pushed. */
  readonly digest?: string | undefined
}

export interface StepState {
  readonly status: StepStatus
  readonly reason?: Reason
  /** One human-readable sentence. */
  readonly message?: string
  /** What the user can do about a failure. */
  readonly hint?: string
  readonly exitCode?: number
  /** Peak usage over the containers of the step. Informational only. */
  readonly usage?: StepUsage
  readonly image?: StepImage
  /** 1-based number of the try, 0 before the first. */
  readonly try: number
  /** Epoch milliseconds. */
  readonly startedAt?: number
  readonly finishedAt?: number
  /** Start of the last try, and of the last wait. */
  readonly runningSince?: number | undefined
  readonly waitingSince?: number | undefined
  /** When a new try of the group reset the step to pending; earlier facts are ignored. */
  readonly resetAt?: number | undefined
  /** Members that other steps may read: `${{steps.NAME.<member>}}`, e.g. imageId, workingDirectory. */
  readonly members: Readonly<Record<string, string>>
  /** Variables exported by this step: `${{steps.NAME.output.X}}`. */
  readonly output: Readonly<Record<string, string>>
  readonly sealed?: SealedNames | undefined
}

/** Names of values that contain a secret: masked in output and sealed at rest. */
export interface SealedNames {
  readonly members?: readonly string[] | undefined
  readonly outputs?: readonly string[] | undefined
}

export interface ExportedVariable {
  readonly name: string
  readonly value: string
  /** True if the value must be masked in logs and sealed at rest. */
  readonly secret: boolean
  /** The step that exported it, and when that step finished (epoch milliseconds). Set by `fold`. */
  readonly step?: string | undefined
  readonly at?: number | undefined
}

export interface Snapshot {
  readonly steps: Readonly<Record<string, StepState>>
  /** In the order of export; later values win. */
  readonly exports: readonly ExportedVariable[]
  /** Steps that a resumed build runs again before anything else. */
  readonly first?: readonly string[] | undefined
}

/** The user or system that decided an approval. */
export interface Decider {
  readonly name: string
  /** `user`, `api`, or `timeout`. */
  readonly type: string
}

/** A fact about a step, as carried by the events `step.started`, `step.waiting`, `step.decided` and `step.finished`. */
export type StepFact =
  /** `resets`: steps inside a restarted group, which go back to pending. */
  | {
      readonly type: 'step.started'
      readonly step: string
      readonly try: number
      readonly at: number
      readonly resets?: readonly string[] | undefined
    }
  /** Ends the wait of an approval: success with the member `result: approved`, error `denied`, or terminated `approval-timeout`. */
  | {
      readonly type: 'step.decided'
      readonly step: string
      readonly decision: 'approved' | 'denied' | 'terminated'
      readonly by: Decider
      readonly at: number
    }
  | { readonly type: 'step.waiting'; readonly step: string; readonly reason: Reason; readonly at: number }
  | {
      readonly type: 'step.finished'
      readonly step: string
      readonly try: number
      readonly at: number
      readonly status: 'success' | 'error' | 'skipped' | 'terminated'
      readonly reason?: Reason | undefined
      readonly message?: string | undefined
      readonly hint?: string | undefined
      readonly exitCode?: number | undefined
      readonly usage?: StepUsage | undefined
      readonly image?: StepImage | undefined
      readonly members: Readonly<Record<string, string>>
      readonly exports: readonly ExportedVariable[]
      /** Outputs of this step only, in addition to its exports: `${{steps.NAME.output.X}}`, not `$X` of later steps. */
      readonly outputs?: Readonly<Record<string, string>> | undefined
      /** Sealed names of `members` and `outputs`; exports carry their own flag. */
      readonly sealed?: SealedNames | undefined
    }

/** Event types that are step facts. */
export const STEP_FACTS = ['step.started', 'step.waiting', 'step.decided', 'step.finished'] as const satisfies StepFact['type'][]

/** Returns true for an event that `fold` accepts. */
export function isStepFact<E extends { readonly type: string }>(event: E): event is E & StepFact {
  return STEP_FACTS.some((type) => type === event.type)
}
