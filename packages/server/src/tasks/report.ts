/** Reports of agents on their tasks, and facts about pods. */
import { backoffMs, isFault } from '@windlass/kit'
import type { AgentFact, FactBatch, LeaseRequest, TaskReport } from '@windlass/protocol'
import type { z } from 'zod'
import type { App } from '../app.ts'
import { editAttempt, saveBuild, type BuildEdit } from '../builds/lifecycle/edit.ts'
import { awaitLastReport } from '../builds/engine/last-report.ts'
import { confirmGone, loseAttempt } from '../builds/lifecycle/ends/end-attempt.ts'
import { noteSilentEngine } from '../builds/engine/silent-engine.ts'
import { stopStaleAttempt } from '../builds/lifecycle/ends/stop-stale-attempt.ts'
import { clearWaiting, noteWaiting } from '../builds/schedule/waiting.ts'
import { lockAgent, updateAgent } from '../store/runtimes/agents.ts'
import { listSilentAttempts } from '../store/builds/attempts.ts'
import { commandTopic } from '../store/builds/commands.ts'
import { storeFaultOf } from '../store/database/transient.ts'
import type { Tx } from '../store/store.ts'
import { extendLeases, findTask, lockTask, taskTopic, updateTask, type TaskRecord } from '../store/runtimes/tasks.ts'
import { PAIR_ATTEMPT, saysEngineRuns, takePairFact, takePairReport } from '../warm/pairs.ts'
import { requireEpoch } from '../agents/require-epoch.ts'

/** Failures of a start task after which the attempt is lost. */
const MAX_START_FAILURES = 5
const MAX_BACKOFF_MS = 60_000

/** Applies a report on a task. Reports for older revisions and repeated reports change nothing. */
export async function reportTask(app: App, agentId: string, report: TaskReport): Promise<void> {
  await requireEpoch(app, agentId, report.epoch)
  const known = await findTask(app.store.query, report.taskId)
  if (known === undefined || known.agent_id !== agentId) return
  await app.store.write(async (tx) => {
    const now = app.clock.now()
    const { kind, id, attempt } = known.subject
    const edit = kind === 'attempt' ? await editAttempt(tx, id, attempt, now) : undefined
    const task = await lockTask(tx, known.id)
    if (task?.status !== 'leased' || task.revision !== report.revision) return
    if (kind === 'warm-pair') return takePairReport(tx, task, { report, now })
    // The build was deleted.
    if (edit === undefined) return updateTask(tx, task.id, { status: 'done', done_at: now })
    await (task.kind === 'stop-attempt' ? afterStop : afterStart)(app, edit, task, report)
    await saveBuild(edit)
  })
}

async function afterStop(app: App, edit: BuildEdit, task: TaskRecord, report: TaskReport): Promise<void> {
  if (report.status === 'done') {
    await updateTask(edit.tx, task.id, { status: 'done', done_at: edit.now })
    return confirmGone(edit)
  }
  await delayTask(app, edit, task)
}

async function afterStart(app: App, edit: BuildEdit, task: TaskRecord, report: TaskReport): Promise<void> {
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

/** Queues the task again with a backoff. */
async function delayTask(app: App, { tx, now }: BuildEdit, task: TaskRecord): Promise<void> {
  const failures = task.failures + 1
  const delay = backoffMs({ baseMs: app.timings.taskBackoffMs, maxMs: MAX_BACKOFF_MS }, failures)
  await updateTask(tx, task.id, { status: 'queued', failures, leased_until: null, available_at: now + delay })
  tx.wake(taskTopic(task.agent_id))
}

export interface LeaseResult {
  readonly lost: string[]
  /** Attempts whose engine runs but has not called, by the ids in their object names. The agent reads the logs of their pods. */
  readonly silent: { buildId: string; attempt: number; runtime: string }[]
}

/** Heartbeat of an agent: extends the leases of its tasks. Returns the tasks that it no longer holds. */
export async function extendLease(app: App, agentId: string, request: z.output<typeof LeaseRequest>): Promise<LeaseResult> {
  await requireEpoch(app, agentId, request.epoch)
  const { tasks: taskIds } = request
  const now = app.clock.now()
  const { taskLeaseMs } = app.timings
  const lease = { agentId, taskIds, now, until: now + taskLeaseMs, settledBefore: now - taskLeaseMs / 4 }
  const held = await app.store.write((tx) => extendLeases(tx, lease))
  const silent = await listSilentAttempts(app.store.query, agentId)
  return {
    lost: taskIds.filter((id) => !held.includes(id)),
    silent: silent.map(({ build_id: buildId, number, pair_id: pair, runtime }) => ({
      buildId: pair ?? buildId,
      attempt: pair === null ? number : PAIR_ATTEMPT,
      runtime,
    })),
  }
}

/**
 * Applies facts in order, each once. Returns the number of the last fact up to which all are stored. If a fact fails with an unexpected error, only the
 * later facts of its build are skipped. Facts of other builds are applied, and again when the agent repeats them, which changes nothing. Throws the
 * first error.
 */
export async function takeFacts(app: App, agentId: string, batch: FactBatch): Promise<number> {
  const { fact_seq: known, instance } = await requireEpoch(app, agentId, batch.epoch)
  if (instance !== batch.instance) return 0
  let seq = known
  const failed = new Map<string, unknown>()
  for (const fact of batch.facts.toSorted((a, b) => a.seq - b.seq)) {
    if (fact.seq <= seq || failed.has(fact.buildId)) continue
    try {
      await app.store.write((tx) => takeFact(app, tx, { agentId, fact, isLast: failed.size === 0 }))
      if (failed.size === 0) seq = fact.seq
    } catch (error) {
      if (isFault(error) || storeFaultOf(error) !== undefined) throw error
      failed.set(fact.buildId, error)
    }
  }
  for (const error of failed.values()) throw error
  return seq
}

interface ReceivedFact {
  readonly agentId: string
  readonly fact: AgentFact
  /** True if all facts before this one are stored. */
  readonly isLast: boolean
}

async function takeFact(app: App, tx: Tx, { agentId, fact, isLast }: ReceivedFact): Promise<void> {
  const now = app.clock.now()
  const known = await editAttempt(tx, fact.buildId, fact.attempt, now)
  const ofBuild = known === undefined ? await takePairFact(tx, { agentId, fact, now }) : fact
  const edit = known ?? (ofBuild && (await editAttempt(tx, ofBuild.buildId, ofBuild.attempt, now)))
  if (ofBuild !== undefined && edit?.attempt?.agent_id === agentId) {
    await applyFact(app, edit, ofBuild)
    await saveBuild(edit)
  }
  if (!isLast) return
  const agent = await lockAgent(tx, agentId)
  if (agent !== undefined && agent.fact_seq < fact.seq) await updateAgent(tx, agentId, { fact_seq: fact.seq })
}

async function applyFact(app: App, edit: BuildEdit, fact: AgentFact): Promise<void> {
  const { attempt } = edit
  if (attempt === undefined) return
  if (fact.state === 'gone') return applyGone(edit)
  if (attempt.status === 'lost' || attempt.status === 'ended') {
    await stopStaleAttempt(edit, { agentId: attempt.agent_id, attempt: attempt.number })
    return
  }
  if (fact.dockerHost !== undefined && fact.dockerHost !== attempt.docker_host) {
    attempt.docker_host = fact.dockerHost
    edit.tx.wake(commandTopic(edit.build.id))
  }
  const reason = fact.reason ?? 'pod-failed'
  if (fact.state === 'lost') {
    const loss = { reason, message: fact.message, retry: fact.permanent !== true }
    return fact.engineMayReport === true ? awaitLastReport(edit, loss) : loseAttempt(edit, loss)
  }
  if (fact.state === 'waiting' && fact.permanent === true)
    return loseAttempt(edit, { reason, message: fact.message, retry: false })
  if (reason === 'engine-silent') return noteSilentEngine(app, edit, fact.message)
  if (fact.state === 'waiting') return noteWaiting(edit, { reason, message: fact.message })
  if (saysEngineRuns(fact)) attempt.engine_since ??= edit.now
  // A running pod does not end the wait for an engine that has not called.
  if (attempt.waiting_reason !== null && attempt.waiting_reason !== 'engine-silent') clearWaiting(edit)
}

/** Handles that nothing of an attempt is left. Confirms an attempt that is over, and marks a live one as lost. */
async function applyGone(edit: BuildEdit): Promise<void> {
  const { attempt } = edit
  if (attempt === undefined) return
  if (attempt.status === 'created') return
  if (attempt.status !== 'lost' && attempt.status !== 'ended') {
    attempt.gone = 1
    return loseAttempt(edit, { reason: 'pod-deleted', message: 'All objects of the attempt were deleted.', retry: true })
  }
  confirmGone(edit)
}
