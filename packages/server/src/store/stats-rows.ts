/** The tables of statistics. `schema.ts` says what columns may contain. */
import type { Reason, StepStatus } from '@windlass/plan'

export interface StatsSchema {
  ended_step: EndedStepRow
  build_wait: BuildWaitRow
}

/** A try of a step of a build that has ended. Times are those of the clock of the engine. */
export interface EndedStepRow {
  build_id: string
  attempt: number
  step: string
  try: number
  account_id: string
  pipeline_id: string
  status: StepStatus
  reason: Reason | null
  started_at: number
  finished_at: number
  /** Peak over the containers of the step. */
  memory_bytes: number | null
  cpu_ms: number | null
}

/** How long a build that has ended waited for one cause, over all its attempts. */
export interface BuildWaitRow {
  build_id: string
  /** A reason, or `start` for the pods of an attempt. */
  reason: string
  account_id: string
  waited_ms: number
}
