/**
 * What is known of a running build: folded from its step events, by engine and server alike. With the Plan it says where to go on.
 */
import type { Reason, StepStatus } from './lists.ts'

/** Sizes in bytes, time of the processors in milliseconds. */
export interface StepUsage {
  readonly memoryPeakBytes?: number | undefined
  readonly memoryLimitBytes?: number | undefined
  readonly cpuMs?: number | undefined
  readonly readBytes?: number | undefined
  readonly writtenBytes?: number | undefined
}

export interface StepState {
  readonly status: StepStatus
  readonly reason?: Reason
  /** One sentence for a person. */
  readonly message?: string
  readonly exitCode?: number
  /** Peaks over the containers of the step, for people; decides nothing. */
  readonly usage?: StepUsage
  /** 1-based number of the try (pipeline language 3.8), 0 before the first. */
  readonly try: number
  /** Epoch milliseconds. */
  readonly startedAt?: number
  readonly finishedAt?: number
  /** Start of the last try, and of the last wait. */
  readonly runningSince?: number | undefined
  readonly waitingSince?: number | undefined
  /** When a further try of the group around it put it back to pending: facts of before change nothing. */
  readonly resetAt?: number | undefined
  /** Members that others may refer to: `${{steps.NAME.<member>}}`, e.g. imageId, workingDirectory. */
  readonly members: Readonly<Record<string, string>>
  /** Names exported by this step: `${{steps.NAME.output.X}}`. */
  readonly output: Readonly<Record<string, string>>
}

export interface ExportedVariable {
  readonly name: string
  readonly value: string
  /** True when the value must be masked in logs and sealed at rest. */
  readonly secret: boolean
  /** Which step exported it, and when that step finished (epoch milliseconds); filled in by `fold`. */
  readonly step?: string | undefined
  readonly at?: number | undefined
}

export interface Snapshot {
  readonly steps: Readonly<Record<string, StepState>>
  /** In the order in which they were exported; the later wins. */
  readonly exports: readonly ExportedVariable[]
  /** Steps that `resume` runs again before anything else. */
  readonly first?: readonly string[] | undefined
}

/** Who decided about an approval. */
export interface Decider {
  readonly name: string
  /** `user`, `api`, or `timeout`. */
  readonly type: string
}

/** A fact about a step, as the events `step.started`, `step.waiting`, `step.decided` and `step.finished` carry it. */
export type StepFact =
  /** `resets`: steps inside a group that runs again, which go back to pending. */
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
      readonly exitCode?: number | undefined
      readonly usage?: StepUsage | undefined
      readonly members: Readonly<Record<string, string>>
      readonly exports: readonly ExportedVariable[]
      /** Outputs of this step alone, beside its exports: `${{steps.NAME.output.X}}`, not `$X` of later steps. */
      readonly outputs?: Readonly<Record<string, string>> | undefined
    }

/** The types of events that are facts about a step. */
export const STEP_FACTS = ['step.started', 'step.waiting', 'step.decided', 'step.finished'] as const satisfies StepFact['type'][]

/** True for an event that `fold` takes. */
export function isStepFact<E extends { readonly type: string }>(event: E): event is E & StepFact {
  return STEP_FACTS.some((type) => type === event.type)
}
