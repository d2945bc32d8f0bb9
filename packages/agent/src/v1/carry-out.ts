/**
 * Carries out one batch of a workflow, task by task. After a failed create, the creates that follow it are skipped: their objects would wait in the
 * cluster for the missing one. If a retry cannot help, the objects of this batch are deleted; otherwise the platform sends the failed task and the
 * skipped ones again.
 */
import { fault, isAbort, isFault, type Clock, type Logger } from '@windlass/kit'
import { createOrAdopt, refOf, type Kube, type KubeObject as ClusterObject, type ObjectRef } from '@windlass/kube'
import { CLAIM_NOTE, KubeObject } from '@windlass/protocol'
import { claimRefsOf, isBound, untilBound } from '@windlass/volumes'
import { z } from 'zod'
import type { AgentPolicy } from '../kubernetes/policy/agent-policy.ts'
import { checkProtocolV1Object, checkProtocolV1Removal, isOfWorkflow } from '../kubernetes/policy/check.ts'
import { isGone, isInvalid, toFailure } from './classify.ts'
import type { Metrics } from './metrics.ts'
import type { TaskOutcome, V1Task } from './shapes.ts'
import { isCreate, type WorkflowBatch } from './split.ts'
import type { WorkflowStarts } from './workflow-starts.ts'

export interface CarryOutOptions {
  /** Returns the cluster of a runtime, or undefined if this agent does not serve it. */
  readonly clusterOf: (runtime: string) => V1Cluster | undefined
  readonly forceDeletePvc: boolean
  readonly metrics: Metrics
  readonly clock: Clock
  readonly log: Logger
  /** Called once for each task, in order. Resolves when the outcome is stored. */
  readonly report: (task: V1Task, outcome: TaskOutcome) => Promise<void>
  /**
   * Waits without delaying the batches of other workflows. The signal is aborted if the platform ends this workflow meanwhile, or the agent is stopped.
   * Resolves to the reason if the workflow must not start then.
   */
  readonly awaitTurn: (wait: (withdrawn: AbortSignal) => Promise<void>) => Promise<string | undefined>
}

/** A cluster for tasks of protocol v1. */
export interface V1Cluster {
  readonly kube: Kube
  /** Limits what the platform may create in it, and where. */
  readonly policy: AgentPolicy
  /** Limits how many workflows start at once. */
  readonly starts: WorkflowStarts
}

const OK: TaskOutcome = { ok: true }
const KIND_OF = {
  CreatePvc: 'PersistentVolumeClaim',
  CreatePod: 'Pod',
  DeletePvc: 'PersistentVolumeClaim',
  DeletePod: 'Pod',
} as const

interface PulledBatch {
  readonly batch: WorkflowBatch
  /** Of the clock's monotonic time. */
  readonly pulledAt: number
}

/** Carries out a batch. A batch that creates pods waits for its turn. Throws only errors of `report` and the reason of the signal. */
export async function carryOut(options: CarryOutOptions, { batch, pulledAt }: PulledBatch, signal: AbortSignal): Promise<void> {
  const { clusterOf, report } = options
  const cluster = clusterOf(batch.runtime)
  if (cluster === undefined) {
    const reason = `this agent does not serve the runtime ${batch.runtime}`
    for (const task of batch.tasks) await report(task, { ok: false, isRetriable: false, reason })
    return
  }
  const start = await cluster.starts.describe(batch)
  if (start === undefined) return void (await carryOutTasks(options, { cluster, batch, pulledAt }, signal))
  if (!cluster.starts.beginNow(start)) {
    const reason = await options.awaitTurn((withdrawn) => cluster.starts.begin(start, AbortSignal.any([signal, withdrawn])))
    if (reason !== undefined) return withdraw(options, { cluster, batch, pulledAt, reason }, signal)
  }
  let isCreated = false
  try {
    isCreated = await carryOutTasks(options, { cluster, batch, pulledAt }, signal)
  } finally {
    cluster.starts.end(start.key, isCreated ? 'created' : 'failed')
  }
}

/** Reports the creates of a workflow that does not start as failed, and carries out its deletions. */
async function withdraw(
  options: CarryOutOptions,
  { cluster, batch, pulledAt, reason }: PulledBatch & { readonly cluster: V1Cluster; readonly reason: string },
  signal: AbortSignal,
): Promise<void> {
  for (const task of batch.tasks.filter(isCreate)) await options.report(task, { ok: false, isRetriable: true, reason })
  const tasks = batch.tasks.filter((task) => !isCreate(task))
  if (tasks.length > 0) await carryOutTasks(options, { cluster, batch: { ...batch, tasks }, pulledAt }, signal)
}

/** Carries out the tasks of a batch. Returns false if a create failed. */
async function carryOutTasks(
  options: CarryOutOptions,
  { cluster, batch, pulledAt }: PulledBatch & { readonly cluster: V1Cluster },
  signal: AbortSignal,
): Promise<boolean> {
  const { metrics, clock, report } = options
  const startedAt = clock.monotonic()
  const created: ObjectRef[] = []
  let failed: (TaskOutcome & { ok: false }) | undefined
  for (const task of batch.tasks) {
    if (failed !== undefined && isCreate(task)) {
      await report(task, { ...failed, reason: `skipped because an earlier task failed: ${failed.reason}` })
      continue
    }
    const taskStartedAt = clock.monotonic()
    const outcome = isCreate(task)
      ? await create({ options, cluster, task, created }, signal)
      : await remove({ options, cluster, task }, signal)
    metrics.kubeCall(task.type, clock.monotonic() - taskStartedAt)
    if (!outcome.ok && isCreate(task)) {
      failed = outcome
      if (!outcome.isRetriable) await undo(options, cluster, created)
    }
    await report(task, outcome)
  }
  const [endedAt, now] = [clock.monotonic(), clock.now()]
  const sinceCreation = batch.createdAt === 0 ? undefined : Math.max(0, now - batch.createdAt)
  metrics.batchDone(batch, { work: endedAt - startedAt, sincePull: endedAt - pulledAt, sinceCreation })
  return failed === undefined
}

interface TaskPart {
  readonly options: CarryOutOptions
  readonly cluster: V1Cluster
  readonly task: V1Task
}

async function create(part: TaskPart & { created: ObjectRef[] }, signal: AbortSignal): Promise<TaskOutcome> {
  const { options, cluster, task, created } = part
  const parsed = KubeObject.safeParse(task.spec)
  const name = parsed.success ? nameOf(parsed.data.metadata) : '(no name)'
  try {
    if (!parsed.success) throw refused(`invalid manifest: ${z.prettifyError(parsed.error)}`)
    const object = parsed.data
    if (object.kind !== 'Pod' && object.kind !== 'PersistentVolumeClaim') throw refused(`unsupported kind ${object.kind}`)
    const { workflowId, reName } = task.metadata
    checkProtocolV1Object(object, { id: workflowId, runtime: reName }, cluster.policy)
    if (object.kind === 'Pod') options.metrics.podCreated(object.metadata.name)
    if (object.kind === 'Pod') await awaitClaims(part, object, signal)
    const { isNew } = await createOrAdopt(cluster.kube, object, (there) => isSame(object, there, workflowId), signal)
    if (isNew) created.push(refOf(object))
    return OK
  } catch (error) {
    return failure(options, error, { doing: 'creating', name, task })
  }
}

/** Maximum time that a pod waits for its claims, milliseconds. Waiting longer would delay the batches that end workflows and free disks. */
const CLAIM_MS = 10_000

/**
 * Waits until the claims of a pod are bound, because a pod that the scheduler sees earlier can wait for minutes. Writes the placement of the pod to
 * the claims first, because a provisioner cannot read it from a pod that does not exist.
 */
async function awaitClaims(
  { options: { clock }, cluster: { kube } }: TaskPart,
  pod: KubeObject,
  signal: AbortSignal,
): Promise<void> {
  const timeout = AbortSignal.timeout(CLAIM_MS)
  const over = AbortSignal.any([signal, timeout])
  for (const ref of claimRefsOf(pod)) {
    const claim = await kube.find(ref, signal)
    if (claim === undefined || isBound(claim)) continue
    if (!(await notePlacement(kube, claim, pod))) continue
    await untilBound(claim, { kube, clock, signal: over }).catch((error: unknown) => {
      if (!timeout.aborted) throw error
    })
  }
}

const Requested = z.unknown().optional()
const Placement = z.object({ nodeSelector: Requested, tolerations: Requested, affinity: Requested })

/** Writes the node requirements of the pod to the claim. Returns false if the cluster does not allow it; the pod is then created without waiting. */
async function notePlacement(kube: Kube, claim: ClusterObject, pod: KubeObject): Promise<boolean> {
  if (claim.metadata.annotations?.[CLAIM_NOTE.placement] !== undefined) return true
  const annotations = { [CLAIM_NOTE.placement]: JSON.stringify(Placement.parse(pod['spec'] ?? {})) }
  try {
    await kube.patch(refOf(claim), { metadata: { annotations } })
    return true
  } catch (error) {
    if (isFault(error, 'cluster-refused', 'not-found')) return false
    throw error
  }
}

/**
 * Whether an existing object is the wanted one: it is labeled with the workflow, or it has a name of the workflow and all labels of the wanted
 * object.
 */
function isSame(wanted: KubeObject, there: KubeObject, workflowId: string): boolean {
  const labels = there.metadata.labels ?? {}
  if (Object.values(labels).includes(workflowId)) return true
  const isLabelled = Object.values(wanted.metadata.labels ?? {}).includes(workflowId)
  const hasLabels = Object.entries(wanted.metadata.labels ?? {}).every(([key, value]) => labels[key] === value)
  const kind = wanted.kind === 'Pod' ? 'Pod' : 'PersistentVolumeClaim'
  return !isLabelled && hasLabels && isOfWorkflow(kind, wanted.metadata.name, workflowId)
}

async function remove({ options, cluster, task }: TaskPart, signal: AbortSignal): Promise<TaskOutcome> {
  const parsed = DeleteSpec.safeParse(lowerKeys(task.spec))
  const name = parsed.success ? nameOf(parsed.data) : '(no name)'
  try {
    if (!parsed.success) throw refused(`invalid spec of a deletion: ${z.prettifyError(parsed.error)}`)
    const ref = { kind: task.type === 'DeletePod' ? KIND_OF.DeletePod : KIND_OF.DeletePvc, ...parsed.data }
    checkProtocolV1Removal(ref, task.metadata.workflowId, cluster.policy)
    await cluster.kube.delete(ref, { signal })
    if (ref.kind === 'PersistentVolumeClaim' && options.forceDeletePvc) await dropFinalizers(cluster.kube, ref, signal)
    return OK
  } catch (error) {
    return isGone(error) ? OK : failure(options, error, { doing: 'deleting', name, task })
  }
}

const DeleteSpec = z.object({ name: z.string().min(1), namespace: z.string().min(1) })

/** Lowercases the keys of a deletion, which come in any case. */
function lowerKeys(spec: unknown): unknown {
  if (typeof spec !== 'object' || spec === null) return spec
  return Object.fromEntries(Object.entries(spec).map(([key, value]) => [key.toLowerCase(), value]))
}

/** Removes the finalizers of a claim. Succeeds if there are none or the claim is gone. */
async function dropFinalizers(kube: Kube, ref: ObjectRef, signal: AbortSignal): Promise<void> {
  try {
    await kube.patch(ref, [{ op: 'remove', path: '/metadata/finalizers' }], { form: 'json', signal })
  } catch (error) {
    // The patch is invalid if there are no finalizers.
    if (!isGone(error) && !isInvalid(error)) throw error
  }
}

/** Deletes the objects of a refused batch. They would stay forever, because only this process knows them. */
async function undo(options: CarryOutOptions, { kube }: V1Cluster, created: readonly ObjectRef[]): Promise<void> {
  for (const ref of created.toReversed())
    await kube
      .delete(ref)
      .catch((error: unknown) =>
        options.log.warn({ err: error, object: ref.name }, 'failed to delete an object of a refused batch'),
      )
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

function refused(message: string): Error {
  return fault('policy-refused', { message })
}

function nameOf({ namespace, name }: { readonly namespace?: string | undefined; readonly name: string }): string {
  return `${namespace ?? ''}\\${name}`
}
