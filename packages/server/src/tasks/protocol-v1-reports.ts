/** Agent protocol v1: reports on single objects, and their effect on the attempt. */
import { backoffMs, defined } from '@windlass/kit'
import type { Reason } from '@windlass/plan'
import type { ProtocolV1TaskStatus } from '@windlass/protocol'
import type { App } from '../app.ts'
import { editAttempt, saveBuild, type BuildEdit } from '../builds/lifecycle/edit.ts'
import { readLimits } from '../builds/schedule/limits.ts'
import { confirmGone, loseAttempt } from '../builds/lifecycle/ends/end-attempt.ts'
import { stopStaleAttempt } from '../builds/lifecycle/ends/stop-stale-attempt.ts'
import { clearWaiting, noteWaiting } from '../builds/schedule/waiting.ts'
import {
  findOpenDeletion,
  findObjectTask,
  listObjectTasks,
  lockObjectTask,
  updateObjectTask,
} from '../store/runtimes/object-tasks.ts'
import type { ObjectTaskRow } from '../store/schema/schema.ts'
import { findStartTask, lockTask, taskTopic, updateTask, type TaskRecord } from '../store/runtimes/tasks.ts'
import { readStartPayload } from './payload.ts'

const MAX_BACKOFF_MS = 60_000
const MAX_MESSAGE = 8192
/** Delay before an accepted deletion is repeated to confirm that the object is gone. Milliseconds. */
const REPEAT_DELETION_MS = 3000

interface Reported {
  readonly edit: BuildEdit
  readonly task: TaskRecord
  readonly object: ObjectTaskRow
  readonly status: ProtocolV1TaskStatus
}

/**
 * Applies the report on an object. A report whose revision is not the stored one plus one changes nothing. Returns false if the agent has no such
 * task.
 */
export async function takeStatus(app: App, agentId: string, id: string, status: ProtocolV1TaskStatus): Promise<boolean> {
  const known = await findObjectTask(app.store.query, id)
  if (known === undefined || known.agent_id !== agentId) return false
  await app.store.write(async (tx) => {
    const edit = await editAttempt(tx, known.build_id, known.attempt, app.clock.now())
    const task = await lockTask(tx, known.task_id)
    const object = await lockObjectTask(tx, id)
    if (edit === undefined || task === undefined || object === undefined) return
    if (object.status === 'done' || status.statusRevision !== object.revision + 1) return
    object.revision = status.statusRevision
    const reported = { edit, task, object, status }
    if (task.status !== 'leased') await takeLateReport(reported)
    else if (isCreation(object)) await afterCreation(app, reported)
    else await afterDeletion(app, reported)
    await saveBuild(edit)
  })
  return true
}

function isCreation({ kind }: ObjectTaskRow): boolean {
  return kind === 'CreatePvc' || kind === 'CreatePod'
}

/** True for the Kubernetes error that the object already exists, unless the existing object is being deleted. */
function existsAlready({ status, isRetriable, reason = '' }: ProtocolV1TaskStatus): boolean {
  return status === 'Error' && !isRetriable && /already exists/i.test(reason) && !/being deleted/i.test(reason)
}

/** True for the Kubernetes error that the object does not exist (NotFound, Gone). */
function isAbsent({ status, isRetriable, reason = '' }: ProtocolV1TaskStatus): boolean {
  return status === 'Error' && !isRetriable && /not found|\bgone\b/i.test(reason)
}

function messageOf({ status, object }: Reported): string {
  const message = status.reason?.trim() ?? ''
  return message === ''
    ? `The agent could not create ${object.namespace}/${object.name} and gave no reason.`
    : message.slice(0, MAX_MESSAGE)
}

/** Returns the reason for an object that cannot be created. */
function reasonOf({ kind }: ObjectTaskRow): Reason {
  return kind === 'CreatePvc' ? 'disk-unavailable' : 'pod-rejected'
}

async function finishObject({ edit, object }: Reported): Promise<void> {
  await updateObjectTask(edit.tx, object.id, {
    status: 'done',
    revision: object.revision,
    handed: 0,
    leased_until: null,
    done_at: edit.now,
  })
}

async function isAllDone({ edit, task, object }: Reported): Promise<boolean> {
  const all = await listObjectTasks(edit.tx.query, task.id)
  return all.every(({ id, status }) => id === object.id || status === 'done')
}

async function requeueObject(
  { edit, object }: Reported,
  changes: { delayMs: number; failures?: number; settlesAt?: number },
): Promise<void> {
  await updateObjectTask(edit.tx, object.id, {
    status: 'queued',
    revision: object.revision,
    failures: changes.failures ?? object.failures,
    handed: 0,
    available_at: edit.now + changes.delayMs,
    leased_until: null,
    ...defined({ settles_at: changes.settlesAt }),
  })
  edit.tx.wake(taskTopic(object.agent_id))
}

async function afterCreation(app: App, reported: Reported): Promise<void> {
  const { edit, task, object, status } = reported
  // Names contain the build and the attempt, so an existing object was created for the same task.
  if (status.status === 'Success' || existsAlready(status)) {
    await finishObject(reported)
    if (!(await isAllDone(reported))) return
    await updateTask(edit.tx, task.id, { status: 'done', done_at: edit.now })
    if (edit.attempt === undefined) return
    edit.attempt.engine_since ??= edit.now
    if (edit.attempt.waiting_reason !== null) clearWaiting(edit)
    return
  }
  const failures = object.failures + 1
  const retries = edit.attempt === undefined ? 0 : readLimits(edit.attempt).retries
  const isBusy = /already exists/i.test(status.reason ?? '')
  if ((status.isRetriable || isBusy) && failures <= retries) {
    noteWaiting(edit, { reason: reasonOf(object), message: messageOf(reported) })
    return requeueObject(reported, { delayMs: delayOf(app, failures), failures })
  }
  await updateObjectTask(edit.tx, object.id, { status: 'done', revision: object.revision, failures, done_at: edit.now })
  await updateTask(edit.tx, task.id, { status: 'refused', done_at: edit.now })
  const retried = failures > 1 ? ` (tried ${failures} times)` : ''
  await loseAttempt(edit, { reason: reasonOf(object), message: `${messageOf(reported)}${retried}`, retry: false })
}

function delayOf(app: App, failures: number): number {
  return backoffMs({ baseMs: app.timings.taskBackoffMs, maxMs: MAX_BACKOFF_MS }, failures)
}

async function afterDeletion(app: App, reported: Reported): Promise<void> {
  const { edit, task, object, status } = reported
  if (!isAbsent(status) && status.status === 'Error') {
    const failures = object.failures + 1
    return requeueObject(reported, { delayMs: delayOf(app, failures), failures })
  }
  const settlesAt = isAbsent(status) ? edit.now : (object.settles_at ?? (await settleTime(reported)))
  if (settlesAt > edit.now)
    return requeueObject(reported, { delayMs: Math.min(REPEAT_DELETION_MS, settlesAt - edit.now), settlesAt })
  await finishObject(reported)
  if (!(await isAllDone(reported))) return
  await updateTask(edit.tx, task.id, { status: 'done', done_at: edit.now })
  confirmGone(edit)
}

/**
 * Returns until when to wait for a pod whose deletion was accepted, because it may continue to run for its grace period. The next attempt waits until
 * the pod is gone or that time is over. Nothing waits for the pods of an attempt that ended regularly.
 */
async function settleTime({ edit, object }: Reported): Promise<number> {
  if (object.kind !== 'DeletePod' || edit.attempt?.status !== 'lost') return edit.now
  const start = await findStartTask(edit.tx.query, { id: object.build_id, attempt: object.attempt })
  if (start === undefined) return edit.now
  const { runtimeScheduler: engine, dockerDaemonScheduler: dind } = readStartPayload(start).spec
  const seconds = object.name.startsWith('engine-') ? engine.terminationGracePeriodSeconds : dind.terminationGracePeriodSeconds
  return edit.now + seconds * 1000
}

/** Handles a report on an object whose task is over. An object that was created anyway is deleted (again). */
async function takeLateReport(reported: Reported): Promise<void> {
  const { edit, object, status } = reported
  await finishObject(reported)
  if (!isCreation(object) || status.status !== 'Success') return
  const deletion = await findOpenDeletion(edit.tx.query, object)
  if (deletion?.status === 'done') return requeueObject({ ...reported, object: deletion }, { delayMs: 0 })
  if (deletion === undefined) await stopStaleAttempt(edit, { agentId: object.agent_id, attempt: object.attempt })
}

/** Sets the reason of a build whose agent took an object and did not report on it. Public agents do not report on runtimes that they do not serve. */
export async function noteUnreported(app: App, object: ObjectTaskRow): Promise<void> {
  if (!isCreation(object)) return
  await app.store.write(async (tx) => {
    const edit = await editAttempt(tx, object.build_id, object.attempt, app.clock.now())
    if (edit === undefined) return
    noteWaiting(edit, {
      reason: 'agent-lost',
      message: `The agent received ${object.namespace}/${object.name} but did not report on it. Check that it serves the runtime environment ${object.runtime}.`,
    })
    await saveBuild(edit)
  })
}
