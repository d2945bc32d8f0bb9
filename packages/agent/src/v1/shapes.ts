/** What a platform of protocol v1 and its agent say to each other (runner specification 2.4). */
import { z } from 'zod'

export const V1Task = z.looseObject({
  _id: z.string().min(1).max(200),
  /** One of `TASK_TYPES`; another is answered, not dropped. */
  type: z.string().max(100),
  metadata: z.looseObject({
    /** RFC 3339. */
    createdAt: z.string().default(''),
    /** The runtime the task is for. */
    reName: z.string().default(''),
    workflowId: z.string().default(''),
    currentStatusRevision: z.int().default(0),
    shouldReportStatus: z.boolean().default(false),
  }),
  spec: z.unknown().optional(),
})
export type V1Task = z.infer<typeof V1Task>

/** In the order in which the tasks of one workflow are carried out. */
export const CLUSTER_TYPES = ['CreatePvc', 'CreatePod', 'DeletePod', 'DeletePvc'] as const
export type ClusterType = (typeof CLUSTER_TYPES)[number]

export const TaskStatusShape = z.object({
  status: z.enum(['Success', 'Error']),
  /** RFC 3339. */
  occurredAt: z.string(),
  statusRevision: z.int(),
  isRetriable: z.boolean(),
  reason: z.string().optional(),
})
export type TaskStatus = z.infer<typeof TaskStatusShape>

/** What became of a task, before it has a time and a revision. */
export type TaskOutcome = { readonly ok: true } | { readonly ok: false; readonly isRetriable: boolean; readonly reason: string }

/** Longest reason that is reported. */
const REASON_LIMIT = 4096

/** The report of an outcome; its revision follows the one that the platform knows. */
export function toStatus(task: Pick<V1Task, 'metadata'>, outcome: TaskOutcome, now: number): TaskStatus {
  return {
    status: outcome.ok ? 'Success' : 'Error',
    occurredAt: new Date(now).toISOString(),
    statusRevision: task.metadata.currentStatusRevision + 1,
    isRetriable: !outcome.ok && outcome.isRetriable,
    ...(!outcome.ok && { reason: outcome.reason.slice(0, REASON_LIMIT) }),
  }
}

/** Reads the tasks of one poll; what is not a task is answered as far as it says whose it is. */
export function readTasks(answer: readonly unknown[]): {
  tasks: V1Task[]
  broken: { task: V1Task; words: string }[]
  lost: number
} {
  const tasks: V1Task[] = []
  const broken: { task: V1Task; words: string }[] = []
  let lost = 0
  for (const item of answer) {
    const parsed = V1Task.safeParse(item)
    if (parsed.success) {
      tasks.push(parsed.data)
      continue
    }
    const head = BrokenTask.safeParse(item)
    if (!head.success) lost += 1
    else broken.push({ task: V1Task.parse({ ...head.data, type: 'unknown' }), words: z.prettifyError(parsed.error) })
  }
  return { tasks, broken, lost }
}

const BrokenTask = z.object({
  _id: z.string().min(1).max(200),
  metadata: z
    .object({ currentStatusRevision: z.int().default(0).catch(0), shouldReportStatus: z.boolean().default(true).catch(true) })
    .prefault({})
    .catch({ currentStatusRevision: 0, shouldReportStatus: true }),
})
