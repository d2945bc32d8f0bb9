/** The tables of statistics. `schema.ts` says what columns may contain. */
import type { Reason, StepStatus } from '@windlass/plan'

export interface StatsSchema {
  ended_step: EndedStepRow
  build_wait: BuildWaitRow
  runtime_sample: RuntimeSampleRow
  disk_sample: DiskSampleRow
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

/** The load of a runtime at a time, a multiple of five minutes. */
export interface RuntimeSampleRow {
  account_id: string
  at: number
  runtime: string
  running: number
  waiting: number
  /** Warm pairs that are ready. */
  pairs: number
}

/** The disk of the logs or of the data folder at a time, a multiple of an hour. */
export interface DiskSampleRow {
  account_id: string
  at: number
  used_bytes: number
  total_bytes: number
}
