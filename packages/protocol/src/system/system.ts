/** The state of the server, and what happens on a runtime. */
import { z } from 'zod'
import { Id, Time } from '../base.ts'
import { BuildRef, QueuedBuild } from '../builds/lists.ts'
import { ReasonName } from '../engine/events.ts'
import { AccountSettings } from './settings.ts'

/** Answer of `GET /v1/system`. */
export const SystemState = z.object({
  version: z.string(),
  store: z.object({
    kind: z.enum(['sqlite', 'postgres']),
    version: z.string(),
    bytes: z.int(),
    /** Time of one call of the database. Milliseconds. */
    pingMs: z.number(),
  }),
  /** The servers that share the database. Version and lag are absent for servers of earlier versions. */
  replicas: z.array(
    z.object({
      id: z.string(),
      version: z.string().optional(),
      seenAt: Time,
      /** 99th percentile of the delay of its event loop. */
      lagMs: z.int().optional(),
    }),
  ),
  agents: z.object({ total: z.int(), online: z.int(), versions: z.array(z.string()) }),
  /** The fuller one of the disks of the data folder and of the log folder. */
  disk: z.object({
    totalBytes: z.int(),
    freeBytes: z.int(),
    /** Free share below which the server accepts no builds. */
    minFreeShare: z.number(),
    /** Forecast of the time until then. Absent if the use does not grow, or has been known for less than a day. */
    fullInMs: z.int().optional(),
  }),
  /** How long data is kept, and the end of the oldest build that has its log, and of the oldest build. */
  retention: z.object({
    buildDays: z.number(),
    logDays: z.number(),
    taskDays: z.number(),
    auditDays: z.number(),
    oldestLogAt: Time.optional(),
    oldestBuildAt: Time.optional(),
  }),
  queue: z.object({ running: z.int(), waiting: z.int(), tasks: z.int(), oldestTaskAt: Time.optional() }),
  settings: z.object({ current: AccountSettings, defaults: AccountSettings }),
})
export type SystemState = z.infer<typeof SystemState>

/** Answer of `GET /v1/runtimes/{name}/activity`. */
export const RuntimeActivity = z.object({
  /** Oldest first, at most 100. */
  running: z.array(BuildRef),
  /** The builds that start first, at most 100, with what they wait for: the runtime, or another limit. */
  waiting: z.array(QueuedBuild.extend({ reason: ReasonName.optional() })),
  pairs: z.array(
    z.object({
      id: Id,
      status: z.enum(['starting', 'ready', 'stopping']),
      pipelineId: Id.optional(),
      createdAt: Time,
      readyAt: Time.optional(),
      /** Names of its pods. */
      pods: z.array(z.string()),
    }),
  ),
  /** The last 24 hours, one for each five minutes in which a server ran, oldest first. `pairs` counts warm pairs that were ready. */
  samples: z.array(z.object({ at: Time, running: z.int(), waiting: z.int(), pairs: z.int() })),
})
export type RuntimeActivity = z.infer<typeof RuntimeActivity>

/** The use of a disk at a time. */
export interface DiskUse {
  readonly at: number
  readonly usedBytes: number
}

const DAY_MS = 86_400_000
/** Longer forecasts say nothing. */
const MAX_FORECAST_MS = 3650 * DAY_MS

/** Returns the time in milliseconds until the use reaches `limitBytes`, by the line of least squares; undefined if it does not grow or is known for less than a day. */
export function forecastFull(uses: readonly DiskUse[], limitBytes: number): number | undefined {
  const [first, last] = [uses[0], uses.at(-1)]
  if (first === undefined || last === undefined || last.at - first.at < DAY_MS) return undefined
  const mean = (valueOf: (use: DiskUse) => number): number => uses.reduce((sum, use) => sum + valueOf(use), 0) / uses.length
  const [meanAt, meanUsed] = [mean(({ at }) => at), mean(({ usedBytes }) => usedBytes)]
  const covariance = mean(({ at, usedBytes }) => (at - meanAt) * (usedBytes - meanUsed))
  const slope = covariance / mean(({ at }) => (at - meanAt) ** 2)
  if (!(slope > 0)) return undefined
  const ms = Math.max(0, Math.round((limitBytes - last.usedBytes) / slope))
  return ms > MAX_FORECAST_MS ? undefined : ms
}
