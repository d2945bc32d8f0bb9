/** Ends of attempts: by the engine's own word, or by loss. What follows from each for the build is decided here. */
import { isInfra, REASONS, type Reason } from '@windlass/plan'
import { newId } from '@windlass/kit'
import type { AttemptRow } from '../store/schema.ts'
import type { StopPayload } from '../tasks/payload.ts'
import { insertTask, lockOpenTasks, updateTask } from '../store/tasks.ts'
import { moveAttempt, moveBuild, record, type BuildEdit, type Cause } from './edit.ts'
import { readLimits } from './limits.ts'

export interface Loss {
  readonly reason: Reason
  readonly message?: string | undefined
  /** False when another attempt cannot help. */
  readonly retry: boolean
}

/** Losses in a row after which the build itself is held to be the cause. */
const POISON_LOSSES = 3
/** Losses that a build can bring about itself, unlike a lost node. */
const SUSPICIOUS: readonly Reason[] = ['engine-lost', 'dind-lost', 'pod-failed']

/**
 * The latest attempt is lost: its engine is fenced, its objects are to go, and the build runs again once they are gone, or ends.
 * Nothing happens when the attempt is over already.
 */
export async function loseAttempt(edit: BuildEdit, loss: Loss): Promise<void> {
  const { attempt, build } = edit
  if (attempt === undefined) return
  const hadStarted = attempt.status !== 'created'
  if (!moveAttempt(edit, 'lose')) return
  attempt.result = 'lost'
  attempt.reason = loss.reason
  attempt.message = loss.message ?? null
  build.losses = hadStarted && SUSPICIOUS.includes(loss.reason) ? build.losses + 1 : 0
  const verdict = judge(edit, loss)
  edit.tx.measure((metrics) => metrics.attemptsLost.inc({ reason: loss.reason }))
  record(edit, {
    type: 'attempt.lost',
    data: { reason: loss.reason, message: loss.message ?? REASONS[loss.reason].text, retry: verdict.retry },
  })
  await stopAttempt(edit, 0)
  if (verdict.retry && moveBuild(edit, 'requeue', { reason: 'retry-pending', message: REASONS['retry-pending'].text })) {
    build.retries += 1
    holdUntilGone(edit)
    return
  }
  if (attempt.gone === 1) moveAttempt(edit, 'confirm')
  finishBuild(edit, build.status === 'terminating' ? 'end-terminated' : 'end-error', verdict.cause)
}

function judge(edit: BuildEdit, loss: Loss): { retry: boolean; cause: Cause } {
  const { build, attempt } = edit
  const cause: Cause = { reason: loss.reason, message: loss.message ?? REASONS[loss.reason].text }
  if (build.status === 'terminating') {
    return { retry: false, cause: { reason: build.cancel_reason ?? 'cancelled', message: build.message ?? undefined } }
  }
  if (build.losses >= POISON_LOSSES) {
    return {
      retry: false,
      cause: { reason: 'infra-poison', message: `${REASONS['infra-poison'].text} The last time: ${cause.message}` },
    }
  }
  const retries = attempt === undefined ? 0 : readLimits(attempt).retries
  return { retry: loss.retry && isInfra(loss.reason) && build.retries < retries, cause }
}

/** A build that runs again waits until nothing of its latest attempt is left. */
export function holdUntilGone(edit: BuildEdit): void {
  const { attempt, build } = edit
  build.held = attempt === undefined || attempt.gone === 1 ? 0 : 1
  if (build.held === 0) moveAttempt(edit, 'confirm')
}

/** The build reaches its final state; the event is the last of its feed. */
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
 * Sees to it that nothing of the latest attempt stays: a start task that nobody was given is withdrawn (then nothing was ever made),
 * else its agent gets a stop task. `keepDiskUntil`: its disk is reserved for the build until then. Safe to call again.
 */
export async function stopAttempt(edit: BuildEdit, graceMs: number, keepDiskUntil?: number): Promise<void> {
  const { attempt, tx } = edit
  if (attempt === undefined || attempt.gone === 1) return
  const open = await lockOpenTasks(tx, attempt.build_id, attempt.number)
  const start = open.find(({ kind }) => kind === 'start-attempt')
  if (start !== undefined) await updateTask(tx, start.id, { status: 'withdrawn', done_at: edit.now })
  if (start !== undefined && start.revision === 0) {
    attempt.gone = 1
    return
  }
  if (open.some(({ kind }) => kind === 'stop-attempt')) return
  await insertStop(edit, attempt, { graceMs, keepDiskUntil })
}

/** The volume that was kept for a build that waited is anybody's again: its agent hears so from one more stop task. */
export async function releaseVolume(edit: BuildEdit): Promise<void> {
  const { attempt, build } = edit
  if (build.keeps_volume === 1 && attempt?.status === 'ended') await insertStop(edit, attempt, { graceMs: 0, keepDiskUntil: 0 })
}

async function insertStop({ tx, now }: BuildEdit, attempt: AttemptRow, payload: StopPayload): Promise<void> {
  await insertTask(tx, {
    id: newId(now),
    account_id: attempt.account_id,
    agent_id: attempt.agent_id,
    build_id: attempt.build_id,
    attempt: attempt.number,
    kind: 'stop-attempt',
    status: 'queued',
    revision: 0,
    failures: 0,
    available_at: now,
    leased_until: null,
    runtime: attempt.runtime,
    payload: JSON.stringify(payload),
    created_at: now,
    claimed_at: null,
    done_at: null,
  })
}

/** The agent says that no object of the attempt is left: a build that waits for this may run again. */
export function confirmGone(edit: BuildEdit): void {
  const { attempt, build } = edit
  if (attempt === undefined || attempt.gone === 1) return
  attempt.gone = 1
  moveAttempt(edit, 'confirm')
  if (build.held === 1) {
    build.held = 0
    record(edit, { type: 'attempt.gone' })
  }
}
