/** What agents say of their tasks, and of the pods they see. */
import { backoffMs } from '@windlass/kit'
import { REASONS, type Reason } from '@windlass/plan'
import type { AgentFact, FactBatch, LeaseRequest, TaskReport } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { editBuild, openEdit, record, saveBuild, setCause, type BuildEdit } from '../builds/edit.ts'
import { confirmGone, loseAttempt } from '../builds/lose.ts'
import { stopOld } from '../builds/stop-old.ts'
import { lockAgent, updateAgent } from '../store/agents.ts'
import { findAttempt } from '../store/attempts.ts'
import { commandTopic } from '../store/commands.ts'
import type { TaskRow } from '../store/schema.ts'
import type { Tx } from '../store/store.ts'
import { extendLeases, findTask, lockTask, taskTopic, updateTask } from '../store/tasks.ts'
import { takePairFact, takePairReport } from '../warm/pairs.ts'
import { requireEpoch } from './claim.ts'

/** Failures of a start task after which the attempt is given up. */
const MAX_START_FAILURES = 5
const MAX_BACKOFF_MS = 60_000

/** Takes a report; one about an older hand-over, or sent again, changes nothing. */
export async function reportTask(app: App, agentId: string, report: TaskReport): Promise<void> {
  await requireEpoch(app, agentId, report.epoch)
  const known = await findTask(app.store.query, report.taskId)
  if (known === undefined || known.agent_id !== agentId) return
  await app.store.write(async (tx) => {
    const edit = await editAttempt(tx, known.build_id, known.attempt, app.clock.now())
    const task = await lockTask(tx, known.id)
    if (edit === undefined && task?.status === 'leased' && task.revision === report.revision)
      return takePairReport(tx, task, { report, now: app.clock.now() })
    if (edit === undefined || task === undefined || task.status !== 'leased' || task.revision !== report.revision) return
    await (task.kind === 'stop-attempt' ? afterStop : afterStart)(app, edit, task, report)
    await saveBuild(edit)
  })
}

/** A build with one of its attempts: the latest as usual, an older one so that it can be cleaned up. */
export async function editAttempt(tx: Tx, buildId: string, attempt: number, now: number): Promise<BuildEdit | undefined> {
  const edit = await editBuild(tx, buildId, now)
  if (edit === undefined || edit.build.attempt === attempt) return edit
  return openEdit(tx, edit.build, await findAttempt(tx.query, buildId, attempt), now)
}

async function afterStop(app: App, edit: BuildEdit, task: TaskRow, report: TaskReport): Promise<void> {
  if (report.status === 'done') {
    await updateTask(edit.tx, task.id, { status: 'done', done_at: edit.now })
    return confirmGone(edit)
  }
  await delayTask(app, edit, task)
}

async function afterStart(app: App, edit: BuildEdit, task: TaskRow, report: TaskReport): Promise<void> {
  const isOver = report.status === 'done' || edit.attempt?.status !== 'created'
  if (isOver) return updateTask(edit.tx, task.id, { status: 'done', done_at: edit.now })
  const reason = report.reason ?? 'pod-rejected'
  if (report.status === 'failed' && task.failures + 1 < MAX_START_FAILURES) {
    noteWaiting(edit, { reason, message: report.message })
    return delayTask(app, edit, task)
  }
  await updateTask(edit.tx, task.id, { status: 'refused', done_at: edit.now })
  await loseAttempt(edit, { reason, message: report.message, retry: report.status === 'failed' })
}

/** The task is handed out again after a while, longer each time. */
async function delayTask(app: App, { tx, now }: BuildEdit, task: TaskRow): Promise<void> {
  const failures = task.failures + 1
  const delay = backoffMs({ baseMs: app.timings.taskBackoffMs, maxMs: MAX_BACKOFF_MS }, failures)
  await updateTask(tx, task.id, { status: 'queued', failures, leased_until: null, available_at: now + delay })
  tx.wake(taskTopic(task.agent_id))
}

export interface LeaseResult {
  readonly lost: string[]
}

/** Heartbeat of an agent: extends the leases of the tasks in its hands, and names those it no longer has. */
export async function extendLease(app: App, agentId: string, request: z.output<typeof LeaseRequest>): Promise<LeaseResult> {
  await requireEpoch(app, agentId, request.epoch)
  const { tasks: taskIds } = request
  const now = app.clock.now()
  const { taskLeaseMs } = app.timings
  const lease = { agentId, taskIds, now, until: now + taskLeaseMs, settledBefore: now - taskLeaseMs / 4 }
  const held = await app.store.write((tx) => extendLeases(tx, lease))
  return { lost: taskIds.filter((id) => !held.includes(id)) }
}

/** Takes facts in order, each once; answers the number up to which all are stored. */
export async function takeFacts(app: App, agentId: string, batch: FactBatch): Promise<number> {
  const { fact_seq: known, instance } = await requireEpoch(app, agentId, batch.epoch)
  if (instance !== batch.instance) return 0
  let seq = known
  for (const fact of batch.facts.toSorted((a, b) => a.seq - b.seq)) {
    if (fact.seq <= seq) continue
    await app.store.write((tx) => takeFact(app, tx, agentId, fact))
    seq = fact.seq
  }
  return seq
}

async function takeFact(app: App, tx: Tx, agentId: string, fact: AgentFact): Promise<void> {
  const now = app.clock.now()
  const known = await editAttempt(tx, fact.buildId, fact.attempt, now)
  const ofBuild = known === undefined ? await takePairFact(tx, { agentId, fact, now }) : fact
  const edit = known ?? (ofBuild && (await editAttempt(tx, ofBuild.buildId, ofBuild.attempt, now)))
  if (ofBuild !== undefined && edit?.attempt?.agent_id === agentId) {
    await applyFact(edit, ofBuild)
    await saveBuild(edit)
  }
  const agent = await lockAgent(tx, agentId)
  if (agent !== undefined && agent.fact_seq < fact.seq) await updateAgent(tx, agentId, { fact_seq: fact.seq })
}

async function applyFact(edit: BuildEdit, fact: AgentFact): Promise<void> {
  const { attempt } = edit
  if (attempt === undefined) return
  if (fact.state === 'gone') return applyGone(edit)
  if (attempt.status === 'lost' || attempt.status === 'ended') {
    await stopOld(edit, { agentId: attempt.agent_id, attempt: attempt.number })
    return
  }
  if (fact.dockerHost !== undefined && fact.dockerHost !== attempt.docker_host) {
    attempt.docker_host = fact.dockerHost
    edit.tx.wake(commandTopic(edit.build.id))
  }
  const reason = fact.reason ?? 'pod-failed'
  if (fact.state === 'lost') return loseAttempt(edit, { reason, message: fact.message, retry: fact.permanent !== true })
  if (fact.state === 'waiting' && fact.permanent === true)
    return loseAttempt(edit, { reason, message: fact.message, retry: false })
  if (fact.state === 'waiting') return noteWaiting(edit, { reason, message: fact.message })
  if (attempt.waiting_reason !== null) clearWaiting(edit)
}

/** Nothing is left of an attempt: confirmed when it is over, a loss when it was thought to live. */
async function applyGone(edit: BuildEdit): Promise<void> {
  const { attempt } = edit
  if (attempt === undefined) return
  if (attempt.status === 'created') return
  if (attempt.status !== 'lost' && attempt.status !== 'ended') {
    attempt.gone = 1
    return loseAttempt(edit, { reason: 'pod-deleted', message: 'All objects of the attempt are gone.', retry: true })
  }
  confirmGone(edit)
}

/** What a daemon may wait for while its engine runs already. */
const DAEMON_WAITS: readonly Reason[] = ['pod-image-error', 'pod-failed']

/**
 * An attempt that cannot start yet, or whose engine runs and waits for its daemon: the build says why, in the words of the cluster.
 */
export function noteWaiting(edit: BuildEdit, cause: { reason: Reason; message: string | undefined }): void {
  const { attempt, build } = edit
  if (attempt === undefined || attempt.status === 'lost' || attempt.status === 'ended') return
  if (attempt.status !== 'created' && !DAEMON_WAITS.includes(cause.reason)) return
  const message = cause.message ?? REASONS[cause.reason].text
  if (attempt.waiting_reason === cause.reason && attempt.waiting_message === message) return
  if (attempt.waiting_reason !== cause.reason) attempt.waiting_since = edit.now
  attempt.waiting_reason = cause.reason
  attempt.waiting_message = message
  if (build.status === 'elected' || build.status === 'running') setCause(edit, { reason: cause.reason, message })
  record(edit, { type: 'attempt.waiting', source: 'agent', data: { reason: cause.reason, message } })
}

/** What it waited for has come. */
export function clearWaiting(edit: BuildEdit): void {
  const { attempt, build } = edit
  if (attempt === undefined) return
  attempt.waiting_reason = null
  attempt.waiting_message = null
  attempt.waiting_since = null
  if (build.status === 'elected' || build.status === 'running') setCause(edit, {})
}
