/** Agent protocol 1: what became of single objects, and what that means for the attempt. */
import { backoffMs } from '@windlass/kit'
import type { Reason } from '@windlass/plan'
import type { PolledTaskStatus } from '@windlass/protocol'
import type { App } from '../app.ts'
import { saveBuild, type BuildEdit } from '../builds/edit.ts'
import { readLimits } from '../builds/limits.ts'
import { confirmGone, loseAttempt } from '../builds/lose.ts'
import { stopOld } from '../builds/stop-old.ts'
import { findOpenDeletion, findObjectTask, listObjectTasks, lockObjectTask, updateObjectTask } from '../store/object-tasks.ts'
import type { ObjectTaskRow, TaskRow } from '../store/schema.ts'
import { findStartTask, lockTask, taskTopic, updateTask } from '../store/tasks.ts'
import { readStartPayload } from './payload.ts'
import { clearWaiting, editAttempt, noteWaiting } from './report.ts'

const MAX_BACKOFF_MS = 60_000
const MAX_WORDS = 8192
/** How soon a deletion that was accepted is asked for again, to hear that nothing is there any more. Milliseconds. */
const ASK_AGAIN_MS = 3000

interface Reported {
  readonly edit: BuildEdit
  readonly task: TaskRow
  readonly object: ObjectTaskRow
  readonly status: PolledTaskStatus
}

/**
 * Takes the report of an object: one with another revision than the stored one plus one changes nothing (runner specification 2.4). False when
 * there is no such task of this agent.
 */
export async function takeStatus(app: App, agentId: string, id: string, status: PolledTaskStatus): Promise<boolean> {
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
    if (task.status !== 'leased') await takeLate(reported)
    else if (isCreation(object)) await afterCreation(app, reported)
    else await afterDeletion(app, reported)
    await saveBuild(edit)
  })
  return true
}

function isCreation({ kind }: ObjectTaskRow): boolean {
  return kind === 'CreatePvc' || kind === 'CreatePod'
}

/** Kubernetes' words for an object that is there already; one that is being deleted is about to make room. */
function existsAlready({ status, isRetriable, reason = '' }: PolledTaskStatus): boolean {
  return status === 'Error' && !isRetriable && /already exists/i.test(reason) && !/being deleted/i.test(reason)
}

/** For an object that is not there (NotFound, Gone). */
function isAbsent({ status, isRetriable, reason = '' }: PolledTaskStatus): boolean {
  return status === 'Error' && !isRetriable && /not found|\bgone\b/i.test(reason)
}

function wordsOf({ status, object }: Reported): string {
  const words = status.reason?.trim() ?? ''
  return words === ''
    ? `The agent could not make ${object.namespace}/${object.name} and did not say why.`
    : words.slice(0, MAX_WORDS)
}

/** What a claim that cannot be made is called, and what a pod. */
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

async function again(
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
    ...(changes.settlesAt !== undefined && { settles_at: changes.settlesAt }),
  })
  edit.tx.wake(taskTopic(object.agent_id))
}

async function afterCreation(app: App, reported: Reported): Promise<void> {
  const { edit, task, object, status } = reported
  // Names hold build and attempt, so that what is there is what an earlier hand-over made.
  if (status.status === 'Success' || existsAlready(status)) {
    await finishObject(reported)
    if (!(await isAllDone(reported))) return
    await updateTask(edit.tx, task.id, { status: 'done', done_at: edit.now })
    if (edit.attempt !== undefined && edit.attempt.waiting_reason !== null) clearWaiting(edit)
    return
  }
  const failures = object.failures + 1
  const retries = edit.attempt === undefined ? 0 : readLimits(edit.attempt).retries
  const isBusy = /already exists/i.test(status.reason ?? '')
  if ((status.isRetriable || isBusy) && failures <= retries) {
    noteWaiting(edit, { reason: reasonOf(object), message: wordsOf(reported) })
    return again(reported, { delayMs: delayOf(app, failures), failures })
  }
  await updateObjectTask(edit.tx, object.id, { status: 'done', revision: object.revision, failures, done_at: edit.now })
  await updateTask(edit.tx, task.id, { status: 'refused', done_at: edit.now })
  const tries = failures > 1 ? ` (tried ${failures} times)` : ''
  await loseAttempt(edit, { reason: reasonOf(object), message: `${wordsOf(reported)}${tries}`, retry: false })
}

function delayOf(app: App, failures: number): number {
  return backoffMs({ baseMs: app.timings.taskBackoffMs, maxMs: MAX_BACKOFF_MS }, failures)
}

async function afterDeletion(app: App, reported: Reported): Promise<void> {
  const { edit, task, object, status } = reported
  if (!isAbsent(status) && status.status === 'Error') {
    const failures = object.failures + 1
    return again(reported, { delayMs: delayOf(app, failures), failures })
  }
  const settlesAt = isAbsent(status) ? edit.now : (object.settles_at ?? (await settleTime(reported)))
  if (settlesAt > edit.now) return again(reported, { delayMs: Math.min(ASK_AGAIN_MS, settlesAt - edit.now), settlesAt })
  await finishObject(reported)
  if (!(await isAllDone(reported))) return
  await updateTask(edit.tx, task.id, { status: 'done', done_at: edit.now })
  confirmGone(edit)
}

/**
 * A pod whose deletion was accepted may run on for its grace period. The next attempt waits until the cluster does not know it any more, or that
 * time is over; nothing waits for the pods of an attempt that came to its end.
 */
async function settleTime({ edit, object }: Reported): Promise<number> {
  if (object.kind !== 'DeletePod' || edit.attempt?.status !== 'lost') return edit.now
  const start = await findStartTask(edit.tx.query, object.build_id, object.attempt)
  if (start === undefined) return edit.now
  const { runtimeScheduler: engine, dockerDaemonScheduler: dind } = readStartPayload(start).spec
  const seconds = object.name.startsWith('engine-') ? engine.terminationGracePeriodSeconds : dind.terminationGracePeriodSeconds
  return edit.now + seconds * 1000
}

/** Its task is over. What was made nevertheless is deleted (again). */
async function takeLate(reported: Reported): Promise<void> {
  const { edit, object, status } = reported
  await finishObject(reported)
  if (!isCreation(object) || status.status !== 'Success') return
  const deletion = await findOpenDeletion(edit.tx.query, object)
  if (deletion?.status === 'done') return again({ ...reported, object: deletion }, { delayMs: 0 })
  if (deletion === undefined) await stopOld(edit, { agentId: object.agent_id, attempt: object.attempt })
}

/** An agent that took an object and said nothing of it: public agents are silent about runtimes that they do not serve. */
export async function noteUnreported(app: App, object: ObjectTaskRow): Promise<void> {
  if (!isCreation(object)) return
  await app.store.write(async (tx) => {
    const edit = await editAttempt(tx, object.build_id, object.attempt, app.clock.now())
    if (edit === undefined) return
    noteWaiting(edit, {
      reason: 'agent-lost',
      message: `The agent was given ${object.namespace}/${object.name} and did not report on it; see that it serves the runtime environment ${object.runtime}.`,
    })
    await saveBuild(edit)
  })
}
