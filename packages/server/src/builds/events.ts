/** Events of an engine: stored once each, in order, and what they mean for attempt and build. */
import { fault } from '@windlass/kit'
import { isInfra } from '@windlass/plan'
import type { EngineEvent } from '@windlass/protocol'
import { z } from 'zod'
import { applyAnnotated } from '../annotations/annotations.ts'
import type { App } from '../app.ts'
import { deleteApprovals, listApprovals } from '../store/approvals.ts'
import { noteImage } from '../images/images.ts'
import { listStreams } from '../store/streams.ts'
import { hearDecision, noteApproval, pauseBuild } from './approve.ts'
import { sealExports } from './build-secrets.ts'
import { editBuild, moveAttempt, record, saveBuild, type BuildEdit } from './edit.ts'
import type { AttemptKey } from './engine-claim.ts'
import { hear } from './hear.ts'
import { finishBuild, loseAttempt, stopAttempt } from './lose.ts'

/** Time for an engine that is done to leave by itself, before its objects are deleted. */
const LEAVE_MS = 10_000

type Finished = Extract<EngineEvent, { type: 'attempt.finished' }>

/**
 * Stores what is new and contiguous; answers the number up to which all is stored. Throws `attempt-stale` when the attempt is no longer
 * the live one, `log-incomplete` (with `offsets`) while bytes of a finished attempt are missing.
 */
export async function applyEvents(app: App, key: AttemptKey, events: readonly EngineEvent[]): Promise<number> {
  const { ackSeq, missing } = await app.store.write(async (tx) => {
    const edit = await editBuild(tx, key.buildId, app.clock.now())
    if (edit?.attempt === undefined || edit.attempt.number !== key.attempt) throw fault('attempt-stale')
    const news = contiguous(edit.attempt.ack_seq, events)
    if (news.length === 0 && endedByItself(edit)) return { ackSeq: edit.attempt.ack_seq, missing: undefined }
    if (!hear(edit, key.attempt)) throw fault('attempt-stale')
    for (const event of news) {
      const gaps = event.type === 'attempt.finished' ? await missingBytes(edit, event) : undefined
      if (gaps !== undefined) {
        await saveBuild(edit)
        return { ackSeq: edit.attempt.ack_seq, missing: gaps }
      }
      edit.attempt.ack_seq = event.seq
      await applyEvent(app, edit, event)
      if (event.type === 'attempt.finished') break
    }
    await saveBuild(edit)
    return { ackSeq: edit.attempt.ack_seq, missing: undefined }
  })
  if (missing !== undefined) throw fault('log-incomplete', { offsets: missing })
  return ackSeq
}

/** The engine had its last word and asks again, because the answer was lost. */
function endedByItself({ attempt }: BuildEdit): boolean {
  return attempt?.status === 'ended' && attempt.result !== 'lost'
}

function contiguous(ackSeq: number, events: readonly EngineEvent[]): EngineEvent[] {
  const news: EngineEvent[] = []
  for (const event of events.filter(({ seq }) => seq > ackSeq).toSorted((a, b) => a.seq - b.seq)) {
    const next = ackSeq + news.length + 1
    if (event.seq > next) break
    if (event.seq === next) news.push(event)
  }
  return news
}

async function missingBytes({ tx, build, attempt }: BuildEdit, event: Finished): Promise<Record<string, number> | undefined> {
  const stored = new Map((await listStreams(tx.query, build.id, attempt?.number)).map(({ stream, bytes }) => [stream, bytes]))
  const gaps = Object.entries(event.streams).filter(([stream, { bytes }]) => (stored.get(stream) ?? 0) < bytes)
  return gaps.length === 0 ? undefined : Object.fromEntries(gaps.map(([stream]) => [stream, stored.get(stream) ?? 0]))
}

async function applyEvent(app: App, edit: BuildEdit, event: EngineEvent): Promise<void> {
  const { type, seq, at, ...data } = event
  if (event.type === 'step.decided') return hearDecision(edit, event)
  record(edit, { type, seq, at, source: 'engine', data: sealExports(app.vault, edit.build, data) })
  noteActivity(edit, event)
  if (event.type === 'step.waiting' && event.reason === 'approval') await noteApproval(edit, event)
  if (event.type === 'image') await noteImage(edit, event)
  if (event.type === 'annotated') await applyAnnotated(edit, event)
  if (event.type === 'step.started' && event.resets !== undefined) await deleteApprovals(edit.tx, edit.build.id, event.resets)
  if (event.type === 'attempt.finished') await finishAttempt(edit, event)
}

const Use = z.record(z.string(), z.number())

/** A step that begins, waits or ends is a sign of activity, and so is a container that has used more than when it was asked last. */
function noteActivity({ attempt, now }: BuildEdit, event: EngineEvent): void {
  if (attempt === undefined || !event.type.startsWith('step.')) return
  attempt.steps_began_at ??= now
  if (event.type === 'step.finished') attempt.steps_ended_at = now
  if (event.type === 'step.started' || event.type === 'step.waiting') attempt.steps_ended_at = null
  if (event.type === 'step.usage') {
    const { cpuMs = 0, readBytes = 0, writtenBytes = 0 } = event.usage
    const before = attempt.use === null ? {} : Use.parse(JSON.parse(attempt.use))
    const total = cpuMs + readBytes + writtenBytes
    if (before[event.step] === total) return
    attempt.use = JSON.stringify({ ...before, [event.step]: total })
  }
  attempt.active_at = now
}

/** The engine has ended the attempt: what it says decides the build, unless infrastructure was to blame and another attempt is due. */
async function finishAttempt(edit: BuildEdit, { outcome }: Finished): Promise<void> {
  const { attempt, build } = edit
  if (attempt === undefined) return
  if (outcome.status !== 'success' && build.status !== 'terminating' && outcome.reason !== undefined && isInfra(outcome.reason)) {
    return loseAttempt(edit, { reason: outcome.reason, message: outcome.message, retry: true })
  }
  if (!moveAttempt(edit, 'end')) return
  attempt.result = outcome.status
  attempt.reason = outcome.reason ?? null
  attempt.message = outcome.message ?? null
  build.losses = 0
  const isCancelled = build.status === 'terminating'
  const isPaused = outcome.status === 'pending-approval' && !isCancelled
  await stopAttempt(edit, LEAVE_MS, isPaused && build.keeps_volume === 1 ? await lastDeadline(edit) : undefined)
  if (isCancelled)
    return finishBuild(edit, 'end-terminated', {
      reason: build.cancel_reason ?? 'cancelled',
      message: build.message ?? undefined,
    })
  if (outcome.status === 'pending-approval') return pauseBuild(edit)
  const trigger = ({ success: 'end-success', error: 'end-error', terminated: 'end-terminated' } as const)[outcome.status]
  finishBuild(edit, trigger, { reason: outcome.reason, message: outcome.message })
}

/** Beyond the last deadline nobody needs the disk of a build that waits. The slack is for the way back into the queue. */
async function lastDeadline({ tx, build, now }: BuildEdit): Promise<number> {
  const open = (await listApprovals(tx.query, build.id)).filter(({ decision }) => decision === null)
  return Math.max(now, ...open.map(({ expires_at: at }) => at)) + RESUME_SLACK_MS
}

const RESUME_SLACK_MS = 3_600_000
