/** Memory and processor time of the steps of a build over time, and their phases and holds. */
import { z } from 'zod'
import { Time } from '../base.ts'
import { STEP_PHASES } from '../engine/events.ts'

/** Maximum points of a step, and steps of an answer. */
export const MAX_USAGE_POINTS = 200
export const MAX_USAGE_STEPS = 200

/** Query of `GET /v1/builds/{id}/usage`. */
export const BuildUsageQuery = z.object({
  /** Default: all steps. */
  step: z.string().min(1).max(150).optional(),
})
export type BuildUsageQuery = z.input<typeof BuildUsageQuery>

/** A part of the time of a step. */
export const UsagePoint = z.object({
  at: Time,
  /** Highest memory in use since the point before. Engines of earlier versions report the peak of the step so far. Bytes. */
  memoryBytes: z.int().optional(),
  /** Processors in use on average since the point before, or since the start of the containers. */
  processors: z.number().optional(),
})
export type UsagePoint = z.infer<typeof UsagePoint>

/** A step in one attempt. */
export const StepUsage = z.object({
  step: z.string(),
  attempt: z.int(),
  /** At most 200, one for each 15 s of shorter steps. Empty for a step that took less than five seconds. */
  points: z.array(UsagePoint),
  memoryLimitBytes: z.int().optional(),
  /** `to` is absent for a phase that has not ended. While a step runs, only phases of at least a second are known. */
  phases: z.array(z.object({ phase: z.enum(STEP_PHASES), from: Time, to: Time.optional() })),
  /** When the debugger held the step. `to` is absent while it holds it. The phase around a hold continues. Absent for a step that was not held. */
  holds: z.array(z.object({ from: Time, to: Time.optional() })).optional(),
})
export type StepUsage = z.infer<typeof StepUsage>

/** Answer of `GET /v1/builds/{id}/usage`: the steps that have points, phases or holds, in the order in which they started. */
export const BuildUsage = z.object({
  steps: z.array(StepUsage),
  /** True if the build has more than 200 such steps. The others are read with `step`. */
  isCut: z.boolean(),
})
export type BuildUsage = z.infer<typeof BuildUsage>
