/** The end of attempts, as reported by the engine or by loss, and its consequences for the build. */
import { isInfra, REASONS, type Reason } from '@windlass/plan'
import { sentences } from '@windlass/kit'
import { ReasonName, RetryDecision } from '@windlass/protocol'
import { z } from 'zod'
import type { AttemptRow } from '../../../store/schema/schema.ts'
import type { StopPayload } from '../../../tasks/payload.ts'
import { insertTask, lockOpenTasks, newTask, updateTask } from '../../../store/runtimes/tasks.ts'
import { moveAttempt, moveBuild, record, type BuildEdit, type Cause } from '../edit.ts'
import { readLimits } from '../../schedule/limits.ts'
import { recordMissing } from '../../engine/missing-log.ts'

export interface Loss {
  readonly reason: Reason
  readonly message?: string | undefined
  readonly hint?: string | undefined
  /** False if another attempt would not help. */
  readonly retry: boolean
  /** True if the engine itself reported the end, so that its log is complete. */
  readonly isReported?: boolean
}

/** Consecutive losses after which the build itself is considered the cause. */
const POISON_LOSSES = 3
/** Reasons of losses that a build can cause itself, unlike a lost node. */
const SUSPICIOUS: readonly Reason[] = ['engine-lost', 'dind-lost', 'pod-failed']

/**
 * Marks the latest attempt as lost: fences its engine and stops its objects. The build then ends, or runs again once the objects are gone. Does
 * nothing if the attempt is already over.
 */
export async function loseAttempt(edit: BuildEdit, seen: Loss): Promise<void> {
  const { attempt, build } = edit
  if (attempt === undefined) return
  const first = readLoss(attempt)
  const loss = { ...seen, ...first, retry: seen.retry && first?.permanent !== true }
  const hadStarted = attempt.status !== 'created'
  if (!moveAttempt(edit, 'lose')) return
  attempt.result = 'lost'
  attempt.reason = loss.reason
  attempt.message = loss.message ?? null
  build.losses = hadStarted && SUSPICIOUS.includes(loss.reason) ? build.losses + 1 : 0
  const { decision, cause } = judge(edit, loss)
  const isRetried = decision === 'retried'
  attempt.loss = writeLoss({ reason: loss.reason, message: loss.message, permanent: !loss.retry, decision })
  edit.tx.measure((metrics) => metrics.attemptsLost.inc({ reason: loss.reason }))
  record(edit, {
    type: 'attempt.lost',
    data: { reason: loss.reason, message: loss.message ?? REASONS[loss.reason].text, retry: isRetried, retryDecision: decision },
  })
  if (loss.isReported !== true) await recordMissing(edit)
  await stopAttempt(edit, 0)
  if (
    isRetried &&
    moveBuild(edit, 'requeue', { reason: 'retry-pending', message: REASONS['retry-pending'].text, hint: waitHint(edit) })
  ) {
    build.retries += 1
    holdUntilGone(edit)
    return
  }
  if (attempt.gone === 1) moveAttempt(edit, 'confirm')
  finishBuild(edit, build.status === 'terminating' ? 'end-terminated' : 'end-error', cause)
}

const StoredLoss = z.object({
  reason: ReasonName,
  message: z.string().optional(),
  /** True if another attempt would not help. */
  permanent: z.boolean().optional(),
  /** Absent until the attempt is marked as lost. */
  decision: RetryDecision.optional(),
})
export type StoredLoss = z.infer<typeof StoredLoss>

/** Returns the loss that was seen first. It is the cause, because the engine got time to report after it. */
export function readLoss({ loss }: Pick<AttemptRow, 'loss'>): StoredLoss | undefined {
  return loss === null ? undefined : StoredLoss.parse(JSON.parse(loss))
}

export function writeLoss(loss: StoredLoss): string {
  return JSON.stringify(loss)
}

function waitHint({ build }: BuildEdit): string {
  return `If the cluster of the attempt no longer exists, have an admin run \`windlass confirm-gone ${build.id}\`.`
}

function judge(edit: BuildEdit, loss: Loss): { decision: RetryDecision; cause: Cause } {
  const { build, attempt } = edit
  const cause: Cause = { reason: loss.reason, message: loss.message ?? REASONS[loss.reason].text, hint: loss.hint }
  if (build.status === 'terminating')
    return {
      decision: 'terminating',
      cause: { reason: build.cancel_reason ?? 'cancelled', message: build.message ?? undefined },
    }
  if (build.losses >= POISON_LOSSES)
    return {
      decision: 'poison',
      cause: { reason: 'infra-poison', message: sentences(REASONS['infra-poison'].text, `Last cause: ${cause.message}`) },
    }
  if (!loss.retry || !isInfra(loss.reason)) return { decision: 'permanent', cause }
  const retries = attempt === undefined ? 0 : readLimits(attempt).retries
  return { decision: build.retries < retries ? 'retried' : 'exhausted', cause }
}

/** Holds a build that runs again until nothing of its latest attempt is left. */
export function holdUntilGone(edit: BuildEdit): void {
  const { attempt, build } = edit
  build.held = attempt === undefined || attempt.gone === 1 ? 0 : 1
  if (build.held === 0) moveAttempt(edit, 'confirm')
}

/** Moves the build to its final state. The event is the last of its feed. */
export function finishBuild(
  edit: BuildEdit,
  trigger: 'end-success' | 'end-error' | 'end-terminated' | 'cancel' | 'expire',
  cause: Cause,
): void {
  if (!moveBuild(edit, trigger, cause)) return
  const { build } = edit
  build.held = 0
  record(edit, {
    type: 'build.finished',
    data: {
      status: build.status,
      ...(build.reason !== null && { reason: build.reason }),
      ...(build.message !== null && { message: build.message }),
    },
  })
}

/**
 * Removes the objects of an attempt. Withdraws a start task that was never handed out, because then no objects exist. Otherwise creates a stop task
 * for its agent. The disk is reserved for the build until `keepDiskUntil`. Can be called repeatedly.
 */
export async function stopAttempt(edit: BuildEdit, graceMs: number, keepDiskUntil?: number): Promise<void> {
  const { attempt, tx } = edit
  if (attempt === undefined || attempt.gone === 1) return
  const open = await lockOpenTasks(tx, { id: attempt.build_id, attempt: attempt.number })
  const start = open.find(({ kind }) => kind === 'start-attempt')
  if (start !== undefined) await updateTask(tx, start.id, { status: 'withdrawn', done_at: edit.now })
  if (start !== undefined && start.revision === 0) {
    attempt.gone = 1
    return
  }
  if (open.some(({ kind }) => kind === 'stop-attempt')) return
  await insertStop(edit, attempt, { graceMs, keepDiskUntil })
}

/** Releases the volume that was kept for a waiting build, by another stop task for its agent. */
export async function releaseVolume(edit: BuildEdit): Promise<void> {
  const { attempt, build } = edit
  if (build.keeps_volume === 1 && attempt?.status === 'ended') await insertStop(edit, attempt, { graceMs: 0, keepDiskUntil: 0 })
}

async function insertStop({ tx, now }: BuildEdit, attempt: AttemptRow, payload: StopPayload): Promise<void> {
  await insertTask(
    tx,
    newTask({
      account_id: attempt.account_id,
      agent_id: attempt.agent_id,
      subject: { kind: 'attempt', id: attempt.build_id, attempt: attempt.number },
      kind: 'stop-attempt',
      runtime: attempt.runtime,
      payload,
      now,
    }),
  )
}

/**
 * Records that nothing of the attempt is left, as reported by its agent or confirmed by the user `by`. A build that waited for it may run again. A
 * build waits for its latest attempt only, so a late confirmation for an older attempt releases nothing.
 */
export function confirmGone(edit: BuildEdit, by?: string): void {
  const { attempt, build } = edit
  if (attempt === undefined || attempt.gone === 1) return
  attempt.gone = 1
  moveAttempt(edit, 'confirm')
  if (build.held === 1 && attempt.number === build.attempt) {
    build.held = 0
    record(edit, { type: 'attempt.gone', ...(by !== undefined && { data: { by } }) })
  }
}
