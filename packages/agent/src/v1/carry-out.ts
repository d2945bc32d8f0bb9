/**
 * One batch of a workflow, task by task. After a create that failed the creates behind it are not tried: they would wait in the cluster for
 * what is missing. When another try cannot help, what this batch made goes again; otherwise the rest comes again with the failed one.
 */
import { fault, isAbort, type Clock, type Logger } from '@windlass/kit'
import { refOf, type Kube, type ObjectRef } from '@windlass/kube'
import { KubeObject } from '@windlass/protocol'
import { z } from 'zod'
import { checkPolledPod, type AgentPolicy } from '../kubernetes/policy.ts'
import { isAlreadyThere, isGone, toFailure } from './classify.ts'
import type { Metrics } from './metrics.ts'
import type { TaskOutcome, V1Task } from './shapes.ts'
import { isCreate, type Batch } from './split.ts'

export interface CarryOutOptions {
  /** The cluster of a runtime, or undefined when this agent does not serve it. */
  readonly clusterOf: (runtime: string) => V1Cluster | undefined
  readonly forceDeletePvc: boolean
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
  /** Called once for each task, in order. */
  readonly report: (task: V1Task, outcome: TaskOutcome) => void
}

/** What a task of v1 needs to know of a cluster. */
export interface V1Cluster {
  readonly kube: Kube
  /** Namespaces that builds may use; all of them when absent. */
  readonly namespaces?: readonly string[] | undefined
  /** What pods may be; whatever the platform wants when absent. */
  readonly policy?: AgentPolicy | undefined
}

const OK: TaskOutcome = { ok: true }
const KIND_OF = {
  CreatePvc: 'PersistentVolumeClaim',
  CreatePod: 'Pod',
  DeletePvc: 'PersistentVolumeClaim',
  DeletePod: 'Pod',
} as const

/** Carries out a batch; never throws. */
export async function carryOut(
  options: CarryOutOptions,
  { batch, pulledAt }: { readonly batch: Batch; /** Of the clock's monotonic time. */ readonly pulledAt: number },
  signal: AbortSignal,
): Promise<void> {
  const { clusterOf, metrics, clock, report } = options
  const cluster = clusterOf(batch.runtime)
  if (cluster === undefined) {
    const reason = `this agent does not serve the runtime ${batch.runtime}`
    for (const task of batch.tasks) report(task, { ok: false, isRetriable: false, reason })
    return
  }
  const startedAt = clock.monotonic()
  const made: ObjectRef[] = []
  let failed: (TaskOutcome & { ok: false }) | undefined
  for (const task of batch.tasks) {
    if (failed !== undefined && isCreate(task)) {
      report(task, { ...failed, reason: `not tried, because a task before it failed: ${failed.reason}` })
      continue
    }
    const taskStartedAt = clock.monotonic()
    const outcome = isCreate(task)
      ? await create({ options, cluster, task, made }, signal)
      : await remove({ options, cluster, task }, signal)
    metrics.kubeCall(task.type, clock.monotonic() - taskStartedAt)
    if (!outcome.ok && isCreate(task)) {
      failed = outcome
      if (!outcome.isRetriable) await undo(options, cluster, made)
    }
    report(task, outcome)
  }
  const [endedAt, now] = [clock.monotonic(), clock.now()]
  const sinceCreation = batch.createdAt === 0 ? undefined : Math.max(0, now - batch.createdAt)
  metrics.batchDone(batch, { work: endedAt - startedAt, sincePull: endedAt - pulledAt, sinceCreation })
}

interface TaskPart {
  readonly options: CarryOutOptions
  readonly cluster: V1Cluster
  readonly task: V1Task
}

async function create(part: TaskPart & { made: ObjectRef[] }, signal: AbortSignal): Promise<TaskOutcome> {
  const { options, cluster, task, made } = part
  const parsed = KubeObject.safeParse(task.spec)
  const name = parsed.success ? nameOf(parsed.data.metadata) : '(no name)'
  try {
    if (!parsed.success) throw refused(`the manifest cannot be read: ${z.prettifyError(parsed.error)}`)
    const object = parsed.data
    if (object.kind !== 'Pod' && object.kind !== 'PersistentVolumeClaim') throw refused(`unsupported kind ${object.kind}`)
    checkNamespace(cluster, object.metadata.namespace)
    if (object.kind === 'Pod' && cluster.policy !== undefined) checkPolledPod(object, task.metadata.workflowId, cluster.policy)
    if (object.kind === 'Pod') options.metrics.podCreated(object.metadata.name)
    const created = await createOrTake(cluster.kube, object, { workflowId: task.metadata.workflowId, signal })
    if (created) made.push(refOf(object))
    return OK
  } catch (error) {
    return failure(options, error, { doing: 'creating', name, task })
  }
}

/** True when it was created, false when the workflow had it already. */
async function createOrTake(
  kube: Kube,
  object: KubeObject,
  { workflowId, signal }: { workflowId: string; signal: AbortSignal },
): Promise<boolean> {
  try {
    await kube.create(object, signal)
    return true
  } catch (error) {
    if (!isAlreadyThere(error)) throw error
    const there = await kube.find(refOf(object), signal)
    const passing = there === undefined || there.metadata.deletionTimestamp !== undefined
    if (passing) throw fault('cluster-unreachable', { message: 'an object of that name is still going' }, error)
    if (!isSame(object, there, workflowId)) throw error
    return false
  }
}

/** The same when it is labelled with the workflow, or when it bears the workflow in its name and every label that it would have had. */
function isSame(wanted: KubeObject, there: KubeObject, workflowId: string): boolean {
  const labels = there.metadata.labels ?? {}
  if (Object.values(labels).includes(workflowId)) return true
  const isLabelled = Object.values(wanted.metadata.labels ?? {}).includes(workflowId)
  const isAlike = Object.entries(wanted.metadata.labels ?? {}).every(([key, value]) => labels[key] === value)
  return !isLabelled && isAlike && wanted.metadata.name.includes(workflowId)
}

async function remove({ options, cluster, task }: TaskPart, signal: AbortSignal): Promise<TaskOutcome> {
  const parsed = DeleteSpec.safeParse(lowerKeys(task.spec))
  const name = parsed.success ? nameOf(parsed.data) : '(no name)'
  try {
    if (!parsed.success) throw refused(`the task does not say what to delete: ${z.prettifyError(parsed.error)}`)
    checkNamespace(cluster, parsed.data.namespace)
    const ref = { kind: task.type === 'DeletePod' ? KIND_OF.DeletePod : KIND_OF.DeletePvc, ...parsed.data }
    await cluster.kube.delete(ref, { signal })
    if (ref.kind === 'PersistentVolumeClaim' && options.forceDeletePvc) await dropFinalizers(cluster.kube, ref, signal)
    return OK
  } catch (error) {
    return isGone(error) ? OK : failure(options, error, { doing: 'deleting', name, task })
  }
}

const DeleteSpec = z.object({ name: z.string().min(1), namespace: z.string().min(1) })

/** Keys of a deletion are written in any case. */
function lowerKeys(spec: unknown): unknown {
  if (typeof spec !== 'object' || spec === null) return spec
  return Object.fromEntries(Object.entries(spec).map(([key, value]) => [key.toLowerCase(), value]))
}

/** A claim without finalizers, or one that is gone by now, is what was wanted. */
async function dropFinalizers(kube: Kube, ref: ObjectRef, signal: AbortSignal): Promise<void> {
  try {
    await kube.patch(ref, [{ op: 'remove', path: '/metadata/finalizers' }], { form: 'json', signal })
  } catch (error) {
    const status =
      error instanceof Error && 'details' in error ? z.object({ httpStatus: z.number() }).safeParse(error.details) : undefined
    if (status?.success !== true || ![404, 422].includes(status.data.httpStatus)) throw error
  }
}

/** What a refused batch had made would stay for ever: nobody else knows of it yet. */
async function undo(options: CarryOutOptions, { kube }: V1Cluster, made: readonly ObjectRef[]): Promise<void> {
  for (const ref of made.toReversed())
    await kube.delete(ref).catch((error: unknown) => options.log.warn({ err: error, object: ref.name }, 'not undone'))
}

function failure(
  { log }: CarryOutOptions,
  error: unknown,
  { doing, name, task }: { doing: string; name: string; task: V1Task },
): TaskOutcome & { ok: false } {
  const outcome = toFailure(error, doing, name)
  if (!isAbort(error)) log.warn({ err: error, taskId: task._id, workflowId: task.metadata.workflowId }, 'task failed')
  return outcome
}

function checkNamespace({ namespaces }: V1Cluster, namespace: string | undefined): void {
  if (namespace === undefined) throw refused('the object names no namespace')
  if (namespaces !== undefined && !namespaces.includes(namespace))
    throw refused(`the policy of the agent does not allow the namespace ${namespace}`)
}

function refused(message: string): Error {
  return fault('policy-refused', { message })
}

function nameOf({ namespace, name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `${namespace ?? ''}\\${name}`
}
