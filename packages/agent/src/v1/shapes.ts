/** The messages between a platform of protocol v1 and its agent. */
import { z } from 'zod'

export const V1Task = z.looseObject({
  _id: z.string().min(1).max(200),
  /** One of `TASK_TYPES`; other types are reported as errors, not dropped. */
  type: z.string().max(100),
  metadata: z.looseObject({
    /** RFC 3339. */
    createdAt: z.string().default(''),
    /** The runtime of the task. */
    reName: z.string().default(''),
    workflowId: z.string().default(''),
    currentStatusRevision: z.int().default(0),
    shouldReportStatus: z.boolean().default(false),
  }),
  spec: z.unknown().optional(),
})
export type V1Task = z.infer<typeof V1Task>

/** In the order in which the tasks of a workflow are carried out. */
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

/** The result of a task, before it gets a time and a revision. */
export type TaskOutcome = { readonly ok: true } | { readonly ok: false; readonly isRetriable: boolean; readonly reason: string }

/** Maximum length of a reported reason. */
const REASON_LIMIT = 4096

/** Returns the report of an outcome; its revision is the next after the one that the platform has. */
export function toStatus(task: Pick<V1Task, 'metadata'>, outcome: TaskOutcome, now: number): TaskStatus {
  return {
    status: outcome.ok ? 'Success' : 'Error',
    occurredAt: new Date(now).toISOString(),
    statusRevision: task.metadata.currentStatusRevision + 1,
    isRetriable: !outcome.ok && outcome.isRetriable,
    ...(!outcome.ok && { reason: outcome.reason.slice(0, REASON_LIMIT) }),
  }
}

/** Parses the tasks of one poll. An invalid task that has an id is returned in `broken`, to be reported; `lost` counts the others. */
export function readTasks(answer: readonly unknown[]): {
  tasks: V1Task[]
  broken: { task: V1Task; problem: string }[]
  lost: number
} {
  const tasks: V1Task[] = []
  const broken: { task: V1Task; problem: string }[] = []
  let lost = 0
  for (const item of answer) {
    const parsed = V1Task.safeParse(item)
    if (parsed.success) {
      tasks.push(parsed.data)
      continue
    }
    const head = BrokenTask.safeParse(item)
    if (!head.success) lost += 1
    else broken.push({ task: V1Task.parse({ ...head.data, type: 'unknown' }), problem: z.prettifyError(parsed.error) })
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
