/** Groups the tasks of one poll into batches of work. Pure. */
import { CLUSTER_TYPES, type ClusterType, type V1Task } from './shapes.ts'

/** The tasks of one workflow, in the order in which they are carried out. */
export interface WorkflowBatch {
  readonly workflowId: string
  readonly runtime: string
  /** Epoch milliseconds of its oldest task. */
  readonly createdAt: number
  readonly kind: 'create' | 'terminate' | 'both'
  readonly tasks: readonly V1Task[]
}

export interface Split {
  /** Oldest first. */
  readonly batches: readonly WorkflowBatch[]
  /** Oldest first. */
  readonly agentTasks: readonly V1Task[]
  /** Tasks that cannot be carried out, with the reason. */
  readonly refused: readonly { readonly task: V1Task; readonly reason: string }[]
}

/** Groups by workflow and sorts. Each task is in exactly one of the three lists. */
export function splitTasks(tasks: readonly V1Task[]): Split {
  const refused: { task: V1Task; reason: string }[] = []
  const groups = new Map<string, V1Task[]>()
  const agentTasks: V1Task[] = []
  for (const task of tasks) {
    if (task.type === 'AgentTask') agentTasks.push(task)
    else if (!isClusterType(task.type)) refused.push({ task, reason: `unknown task type ${task.type}` })
    else if (task.metadata.workflowId === '') refused.push({ task, reason: 'the task names no workflow' })
    else {
      const group = groups.get(task.metadata.workflowId) ?? []
      groups.set(task.metadata.workflowId, group)
      const runtime = group[0]?.metadata.reName ?? task.metadata.reName
      if (runtime === task.metadata.reName) group.push(task)
      else refused.push({ task, reason: `runtime ${task.metadata.reName} differs from ${runtime}, the runtime of the workflow` })
    }
  }
  const batches = [...groups].map(([workflowId, group]) => toBatch(workflowId, group))
  return {
    batches: batches.toSorted((a, b) => a.createdAt - b.createdAt),
    agentTasks: agentTasks.toSorted((a, b) => createdAt(a) - createdAt(b)),
    refused,
  }
}

/** Returns the tasks of one workflow as a batch. */
export function toBatch(workflowId: string, group: readonly V1Task[]): WorkflowBatch {
  const creates = group.filter(isCreate).length
  return {
    workflowId,
    runtime: group[0]?.metadata.reName ?? '',
    createdAt: Math.min(...group.map(createdAt)),
    kind: creates === group.length ? 'create' : creates === 0 ? 'terminate' : 'both',
    tasks: group.toSorted((a, b) => orderOf(a) - orderOf(b)),
  }
}

/** Whether a task creates an object. */
export function isCreate({ type }: Pick<V1Task, 'type'>): boolean {
  return type === 'CreatePvc' || type === 'CreatePod'
}

function isClusterType(type: string): type is ClusterType {
  return CLUSTER_TYPES.some((known) => known === type)
}

function orderOf({ type }: V1Task): number {
  return CLUSTER_TYPES.findIndex((known) => known === type)
}

/** Parses the time of creation. An invalid time counts as the oldest, so that its task does not wait forever. */
function createdAt({ metadata }: V1Task): number {
  return Date.parse(metadata.createdAt) || 0
}
