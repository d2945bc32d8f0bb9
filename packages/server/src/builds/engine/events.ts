/** Events of engines: stored once each, in order, and applied to the attempt and its build. */
import { fault } from '@windlass/kit'
import { isInfra } from '@windlass/plan'
import type { EngineEvent, TakenEvent } from '@windlass/protocol'
import { z } from 'zod'
import { applyAnnotated } from '../../annotations/annotations.ts'
import type { App } from '../../app.ts'
import { deleteApprovals, listApprovals } from '../../store/builds/approvals.ts'
import { recordImage } from '../../images/images.ts'
import { findStreamEnds } from '../../store/builds/logs/streams.ts'
import { recordEngineDecision, noteApproval, pauseBuild } from '../lifecycle/approve.ts'
import { sealValues } from '../create/build-secrets.ts'
import { editBuild, moveAttempt, record, saveBuild, type BuildEdit } from '../lifecycle/edit.ts'
import { recordHeartbeat } from './record-heartbeat.ts'
import { finishBuild, loseAttempt, stopAttempt } from '../lifecycle/ends/end-attempt.ts'
import { noteRefused, applyContent } from '../create/apply-content.ts'
import type { AttemptKey } from '../../store/builds/attempts.ts'

/** Time for a finished engine to exit before its objects are deleted. Milliseconds. */
const EXIT_MS = 10_000

type Finished = Extract<EngineEvent, { type: 'attempt.finished' }>

/**
 * Stores the new events that follow the stored ones without a gap. Returns the number of the last stored event. Throws `attempt-stale` if the
 * attempt is no longer the live one, and `log-incomplete` (with `offsets`) while log bytes of a finished step or attempt are missing.
 */
export async function applyEvents(app: App, key: AttemptKey, events: readonly TakenEvent[]): Promise<number> {
  const { ackSeq, missing } = await app.store.write(async (tx) => {
    const edit = await editBuild(tx, key.buildId, app.clock.now())
    if (edit?.attempt === undefined || edit.attempt.number !== key.attempt) throw fault('attempt-stale')
    const fresh = contiguous(edit.attempt.ack_seq, events)
    if (fresh.length === 0 && isEndStored(edit, events)) return { ackSeq: edit.attempt.ack_seq, missing: undefined }
    if (!recordHeartbeat(edit, key.attempt)) throw fault('attempt-stale')
    for (const event of fresh) {
      const gaps = await missingBytes(edit, key, event)
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

/** True if the engine has already reported its end. It sends the events again if the response was lost. */
function isEndStored({ attempt }: BuildEdit, events: readonly TakenEvent[]): boolean {
  if (attempt?.status === 'ended' && attempt.result !== 'lost') return true
  // An end by a failure of the infrastructure marks the attempt as lost.
  return events.some(({ type, seq }) => type === 'attempt.finished' && seq <= (attempt?.ack_seq ?? 0))
}

function contiguous(ackSeq: number, events: readonly TakenEvent[]): TakenEvent[] {
  const fresh: TakenEvent[] = []
  for (const event of events.filter(({ seq }) => seq > ackSeq).toSorted((a, b) => a.seq - b.seq)) {
    const next = ackSeq + fresh.length + 1
    if (event.seq > next) break
    if (event.seq === next) fresh.push(event)
  }
  return fresh
}

/** Returns the incomplete streams of an ended step or attempt with their stored lengths, or undefined if all are complete. */
async function missingBytes(
  { tx }: BuildEdit,
  { buildId, attempt }: AttemptKey,
  event: EngineEvent,
): Promise<Record<string, number> | undefined> {
  const announced = announcedBytes(event)
  if (announced.length === 0) return undefined
  const names = event.type === 'step.finished' ? announced.map(([stream]) => stream) : undefined
  const stored = await findStreamEnds(tx.query, { buildId, attempt }, names)
  const gaps: Record<string, number> = {}
  for (const [stream, bytes] of announced) if ((stored.get(stream) ?? 0) < bytes) gaps[stream] = stored.get(stream) ?? 0
  return Object.keys(gaps).length === 0 ? undefined : gaps
}

function announcedBytes(event: EngineEvent): (readonly [stream: string, bytes: number])[] {
  if (event.type === 'step.finished') return Object.entries(event.streams ?? {})
  return event.type === 'attempt.finished' ? Object.entries(event.streams).map(([name, { bytes }]) => [name, bytes]) : []
}

async function applyEvent(app: App, edit: BuildEdit, event: TakenEvent): Promise<void> {
  const { type, seq, at, refused, ...data } = event
  if (event.type === 'step.decided') return recordEngineDecision(edit, event)
  record(edit, { type, seq, at, source: 'engine', data: await sealValues(app.vault, edit.tx, edit.build, data) })
  if (refused !== undefined && type !== 'notice') noteRefused(edit, 'step' in event ? event.step : undefined, refused)
  noteActivity(edit, event)
  measureEvent(edit, event)
  if (event.type === 'step.waiting' && event.reason === 'approval') await noteApproval(edit, event)
  if (event.type === 'image') await applyContent(app, edit, { ...event, work: () => recordImage(edit, event) })
  if (event.type === 'annotated') await applyContent(app, edit, { ...event, work: () => applyAnnotated(edit, event) })
  if (event.type === 'step.started' && event.resets !== undefined) await deleteApprovals(edit.tx, edit.build.id, event.resets)
  if (event.type === 'attempt.finished') await finishAttempt(edit, event)
}

function measureEvent({ tx, attempt, now }: BuildEdit, event: EngineEvent): void {
  if (event.type === 'step.finished') tx.measure((metrics) => metrics.steps.inc({ result: event.status }))
  const claimed = attempt?.started_at ?? now
  if (event.type === 'attempt.started')
    tx.measure((metrics) => metrics.starts.observe({ phase: 'daemon' }, Math.max(0, now - claimed) / 1000))
}

const Usage = z.record(z.string(), z.number())

/** Updates the activity times. A step that starts, waits or ends counts as activity, and so does a container whose usage has grown. */
function noteActivity({ attempt, now }: BuildEdit, event: EngineEvent): void {
  if (attempt === undefined || !event.type.startsWith('step.')) return
  attempt.steps_began_at ??= now
  if (event.type === 'step.finished') attempt.steps_ended_at = now
  if (event.type === 'step.started' || event.type === 'step.waiting') attempt.steps_ended_at = null
  if (event.type === 'step.usage') {
    const { cpuMs = 0, readBytes = 0, writtenBytes = 0 } = event.usage
    const before = attempt.use === null ? {} : Usage.parse(JSON.parse(attempt.use))
    const total = cpuMs + readBytes + writtenBytes
    if (before[event.step] === total) return
    attempt.use = JSON.stringify({ ...before, [event.step]: total })
  }
  attempt.active_at = now
}

/** Ends the attempt. Its outcome decides the build, unless infrastructure failed and another attempt is due. */
async function finishAttempt(edit: BuildEdit, { outcome }: Finished): Promise<void> {
  const { attempt, build } = edit
  if (attempt === undefined) return
  if (outcome.status !== 'success' && build.status !== 'terminating' && outcome.reason !== undefined && isInfra(outcome.reason)) {
    return loseAttempt(edit, { reason: outcome.reason, message: outcome.message, retry: true, isReported: true })
  }
  if (!moveAttempt(edit, 'end')) return
  attempt.result = outcome.status
  attempt.reason = outcome.reason ?? null
  attempt.message = outcome.message ?? null
  build.losses = 0
  const isCancelled = build.status === 'terminating'
  const isPaused = outcome.status === 'pending-approval' && !isCancelled
  await stopAttempt(edit, EXIT_MS, isPaused && build.keeps_volume === 1 ? await lastDeadline(edit) : undefined)
  if (isCancelled)
    return finishBuild(edit, 'end-terminated', {
      reason: build.cancel_reason ?? 'cancelled',
      message: build.message ?? undefined,
    })
  if (outcome.status === 'pending-approval') return pauseBuild(edit)
  const trigger = ({ success: 'end-success', error: 'end-error', terminated: 'end-terminated' } as const)[outcome.status]
  finishBuild(edit, trigger, { reason: outcome.reason, message: outcome.message })
}

/** Returns until when the disk of a waiting build is reserved: the last approval deadline, and some slack for queuing again. */
async function lastDeadline({ tx, build, now }: BuildEdit): Promise<number> {
  const open = (await listApprovals(tx.query, build.id)).filter(({ decision }) => decision === null)
  return Math.max(now, ...open.map(({ expires_at: at }) => at)) + RESUME_SLACK_MS
}

const RESUME_SLACK_MS = 3_600_000
