/** Statistics of a pipeline. */
import { z } from 'zod'
import { Time } from '../base.ts'
import { BuildRef } from '../builds/lists.ts'

/** Query of `GET /v1/pipelines/{name}/stats`. Default: the last 30 days, all branches. */
export const StatsQuery = z.object({
  /** Created at this time or later, and before the other one. Epoch milliseconds. */
  from: z.coerce.number().int().nonnegative().optional(),
  to: z.coerce.number().int().nonnegative().optional(),
  branch: z.string().min(1).max(500).optional(),
})

/** Nearest-rank percentiles of times in milliseconds. Absent without samples. */
export const Percentiles = z.object({ count: z.int(), p50Ms: z.int().optional(), p95Ms: z.int().optional() })
export type Percentiles = z.infer<typeof Percentiles>

const Ref = BuildRef.pick({ id: true, number: true })

/** Times that rose: medians of ten successful builds before and after the first build of the change. */
export const Slowdown = z.object({
  /** Absent for the duration of whole builds. */
  step: z.string().optional(),
  beforeMs: z.int(),
  afterMs: z.int(),
  first: Ref.extend({ startedAt: Time }),
})
export type Slowdown = z.infer<typeof Slowdown>

/** A step that failed and succeeded without a change of the commit. At most ten builds are named. */
export const FlakyStep = z.object({
  step: z.string(),
  /** Number of builds that show it, and of builds with the step. */
  builds: z.int(),
  of: z.int(),
  evidence: z.array(Ref.extend({ kind: z.enum(['later-try', 'same-commit']), revision: z.string().optional() })),
})
export type FlakyStep = z.infer<typeof FlakyStep>

export const StepStats = Percentiles.extend({
  step: z.string(),
  failed: z.int(),
  /** Peaks of memory over the containers of the step, 95th percentile. Bytes. */
  memoryP95: z.int().optional(),
  /** Number of builds whose memory was measured. */
  memoryBuilds: z.int().optional(),
})
export type StepStats = z.infer<typeof StepStats>

/** Builds of one week. `week` is the Monday, 00:00 UTC. */
export const WeekStats = Percentiles.extend({
  week: Time,
  success: z.int(),
  error: z.int(),
  terminated: z.int(),
  waitP95Ms: z.int().optional(),
})
export type WeekStats = z.infer<typeof WeekStats>

/** Answer of `GET /v1/pipelines/{name}/stats`. Durations are those of successful builds, without the time of approvals. */
export const PipelineStats = z.object({
  from: Time,
  to: Time,
  branch: z.string().optional(),
  /** False if only the newest builds were read, or steps with very large exports were left out. */
  isExact: z.boolean(),
  builds: z.object({ total: z.int(), success: z.int(), error: z.int(), terminated: z.int() }),
  /** Share of successful builds among those that succeeded or failed, 0 to 1. Absent without such builds. */
  greenShare: z.number().optional(),
  duration: Percentiles,
  /** Time that all builds waited, those that did not wait with 0. */
  wait: Percentiles,
  /** By cause, the greatest total first. Percentiles are over the builds that waited for it. */
  waits: z.array(Percentiles.extend({ cause: z.string(), totalMs: z.int() })),
  weeks: z.array(WeekStats),
  /** In the order in which steps usually start. */
  steps: z.array(StepStats),
  slower: z.array(Slowdown),
  flaky: z.array(FlakyStep),
  /** Present if builds ask for at least twice the memory that 95 % of them need. Bytes. */
  oversized: z.object({ asked: z.int(), p95: z.int(), builds: z.int() }).optional(),
})
export type PipelineStats = z.infer<typeof PipelineStats>
