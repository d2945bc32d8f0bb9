/** What lists of builds show beyond a build itself: its progress, what it waits for, counts and the queue. */
import { BUILD_STATUSES } from '@windlass/plan'
import { z } from 'zod'
import { Id, Time } from '../base.ts'
import { ReasonName } from '../engine/events.ts'

/** Another build, in short. */
export const BuildRef = z.object({
  id: Id,
  number: z.int(),
  pipeline: z.string().optional(),
  branch: z.string().optional(),
  status: z.enum(BUILD_STATUSES),
  startedAt: Time.optional(),
})
export type BuildRef = z.infer<typeof BuildRef>

/** The first line of the message of a commit, and its author. At most 200 characters each. */
export const BuildCommit = z.object({ message: z.string().optional(), author: z.string().optional() })

/** Counts of the steps that do something themselves: groups and the steps of hooks do not count. */
export const BuildProgress = z.object({
  total: z.int(),
  /** Steps that have ended, with any result. */
  done: z.int(),
  failed: z.int(),
  /** The step that started last among those that run or wait. */
  current: z.string().optional(),
})

/** Maximum number of builds that hold a limit in an answer. `used` counts all of them. */
export const MAX_HOLDERS = 10

/** The limit that a build waits for. */
export const LimitUse = z.object({
  /** Builds that use the limit, and how many may. Absent if no number of builds is the cause. */
  used: z.int().optional(),
  limit: z.int().optional(),
  /** The oldest builds that use it, at most 10, as far as the caller may see them. */
  holders: z.array(BuildRef).optional(),
})

/** Why a build waits, and for how long. */
export const Waiting = LimitUse.extend({
  reason: ReasonName,
  since: Time,
  /** Its place among the builds that wait for the same; 1 starts first. Absent for approvals and for builds whose pods start. */
  place: z.int().optional(),
})
export type Waiting = z.infer<typeof Waiting>

/** Answer of `GET /v1/builds/counts`: most builds first, at most 100 values. Builds without a value are not counted. */
export const BuildCounts = z.object({
  items: z.array(z.object({ value: z.string(), count: z.int() })),
  /** False if only the newest builds were counted. Counts are exact for at least 10,000 builds of one status, project, pipeline and branch. */
  isExact: z.boolean(),
})
export type BuildCounts = z.infer<typeof BuildCounts>

/** A build of the queue. */
export const QueuedBuild = z.object({
  id: Id,
  number: z.int(),
  pipeline: z.string().optional(),
  branch: z.string().optional(),
  since: Time,
})

/** Builds that wait for the same. */
export const QueueCause = LimitUse.extend({
  reason: ReasonName,
  message: z.string().optional(),
  hint: z.string().optional(),
  /** What the cause concerns. Absent for the whole account. */
  runtime: z.string().optional(),
  project: z.string().optional(),
  pipeline: z.string().optional(),
  branch: z.string().optional(),
  trigger: z.string().optional(),
  /** Number of builds that wait, and since when the one waits that has waited longest. */
  waiting: z.int(),
  since: Time,
  /** When the server ends that one if it still waits. */
  expiresAt: Time,
  /** The builds that start first, at most 20. */
  builds: z.array(QueuedBuild),
  /** Forecast of the time until a holder ends, from the usual times of their pipelines. Absent with fewer than five samples. Milliseconds. */
  nextMs: z.int().optional(),
})
export type QueueCause = z.infer<typeof QueueCause>

/** Answer of `GET /v1/queue`: why builds wait. The causes of the builds that start first come first; at most 100. */
export const Queue = z.object({ waiting: z.int(), items: z.array(QueueCause) })
export type Queue = z.infer<typeof Queue>

/** What can be done with several builds at once. `restart-failed` starts at the failed steps and keeps the results of the others. */
export const BUILD_ACTIONS = ['terminate', 'restart', 'restart-failed', 'approve', 'deny'] as const
export type BuildAction = (typeof BUILD_ACTIONS)[number]

export const MAX_ACTION_BUILDS = 200

/** Body of `POST /v1/builds/actions`. */
export const BuildActionInput = z.strictObject({
  action: z.enum(BUILD_ACTIONS),
  ids: z.array(Id).min(1).max(MAX_ACTION_BUILDS),
  /** Comment of `approve` and `deny`. */
  comment: z.string().max(2000).optional(),
})
export type BuildActionInput = z.input<typeof BuildActionInput>

/** Why an action could not be done with one of the builds. */
export const ActionProblem = z.object({ code: z.string(), message: z.string(), hint: z.string() })
