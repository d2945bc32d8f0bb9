/**
 * Timeouts: silent engines, attempts that do not start, builds that are too old or do not end. Only the clock of the store counts, without the time
 * in which engines could not be heard (`hearing.ts`).
 */
import { attempt as guarded, ticks } from '@windlass/kit'
import { REASONS } from '@windlass/plan'
import { readAccountSettings } from '../../../account/settings.ts'
import type { App } from '../../../app.ts'
import { listHeld } from '../../../debug/debug.ts'
import { listLiveAttempts, type LiveAttempt } from '../../../store/builds/attempts.ts'
import { findStartTask } from '../../../store/runtimes/tasks.ts'
import { isTransient } from '../../../store/database/transient.ts'
import { listExcessBuilds, listOverdueBuilds } from '../../../store/builds/waiting.ts'
import { expireApprovals } from '../approve.ts'
import { editBuild, moveAttempt, record, saveBuild, type BuildEdit } from '../edit.ts'
import { heardMs, isBreak, noteBreak, readMoment } from '../../engine/hearing.ts'
import { readLimits } from '../../schedule/limits.ts'
import { loseAttempt } from './end-attempt.ts'
import { hasOpenSteps } from '../open-steps.ts'
import { reportMissedEnds } from './missed-ends.ts'
import { judgeSilentEngine, loseSilentEngine, noteSilentEngine } from '../../engine/silent-engine.ts'
import { endEarly } from './terminate.ts'
import type { Timings } from '../../../settings.ts'

/** Sweeps every `sweepMs` until the server closes. */
export async function sweepLoop(app: App): Promise<void> {
  const { clock, timings, hearing } = app
  let last = readMoment(clock)
  hearing.judgeFrom = last.steady + timings.deadMs
  for await (const _ of ticks(timings.sweepMs, { clock, signal: app.closing })) {
    const isMeasured = await guarded(app.log, 'read the time of the store', () => app.store.measureTime().then(() => true))
    const next = readMoment(clock)
    if (isBreak(last, next, timings)) {
      const passed = { wallMs: next.wall - last.wall, steadyMs: next.steady - last.steady }
      app.log.warn(passed, 'clock jumped or process was suspended; leases are renewed')
      noteBreak(app)
    }
    last = next
    const judges = isMeasured === true && next.steady >= hearing.judgeFrom
    const before = hearing.since
    const isDone = isMeasured === true && (await guarded(app.log, 'sweep', () => sweep(app, judges).then(() => true))) === true
    // Without its database the server cannot store heartbeats.
    if (!isDone) noteBreak(app)
    // A call of an engine may have failed during the sweep and recorded a break.
    else if (hearing.since === before) {
      hearing.heardAt = next.wall
      hearing.judged = judges ? next : undefined
    }
  }
}

/**
 * Checks all live attempts, approvals, queued builds and unreported ends once. `judges` is false until engines had the chance to call; then only the age of builds
 * counts. Throws if the store does not respond.
 */
export async function sweep(app: App, judges: boolean): Promise<void> {
  const context = { app, timings: app.timings, now: app.clock.now(), judges }
  for (const attempt of await listLiveAttempts(app.store.query))
    await sweepAttempt(attempt, context).catch((error: unknown) => {
      if (isTransient(error)) throw error
      // A build that cannot be read must not block the others.
      app.log.error({ err: error, buildId: attempt.build_id }, 'cannot check an attempt for timeouts')
    })
  await expireApprovals(app)
  await expireQueue(app, context.now)
  await reportMissedEnds(app)
}

async function sweepAttempt(attempt: LiveAttempt, context: SweepContext): Promise<void> {
  const { app } = context
  const verdict = judgeAttempt(attempt, context)
  if (verdict === undefined || (verdict === 'post-steps' && (await hasOpenSteps(app, attempt)))) return
  await editDue(app, attempt.build_id, async (edit) => {
    const live = edit.attempt?.number === attempt.number ? toLive(edit, attempt) : undefined
    if (live !== undefined) await applyVerdict(edit, live, context)
  })
}

const DAY_MS = 86_400_000

/** Ends builds that waited for too long, and the oldest ones if too many wait. */
async function expireQueue(app: App, now: number): Promise<void> {
  const { query } = app.store
  const { maxQueuedDays, maxQueuedBuilds } = await readAccountSettings(query, app.accountId)
  const end = (id: string, message: string): Promise<void> =>
    editDue(app, id, async (edit) => {
      if (edit.build.status === 'pending' || edit.build.status === 'delayed')
        await endEarly(edit, 'expire', { reason: 'queue-expired', message })
    })
  const tooOld = { accountId: app.accountId, queuedBefore: now - maxQueuedDays * DAY_MS }
  for (const id of await listOverdueBuilds(query, tooOld)) await end(id, `The build waited for more than ${maxQueuedDays} days.`)
  for (const id of await listExcessBuilds(query, { accountId: app.accountId, keep: maxQueuedBuilds }))
    await end(id, `More than ${maxQueuedBuilds} builds wait; this one was the oldest.`)
}

async function editDue(app: App, buildId: string, work: (edit: BuildEdit) => Promise<void>): Promise<void> {
  await app.store.write(async (tx) => {
    const edit = await editBuild(tx, buildId, app.clock.now())
    if (edit === undefined) return
    await work(edit)
    await saveBuild(edit)
  })
}

/** Combines the rows that were read again under the lock of the build with the earlier state of the agent. */
function toLive({ attempt, build }: BuildEdit, before: LiveAttempt): LiveAttempt | undefined {
  if (attempt === undefined) return undefined
  return {
    ...attempt,
    build_status: build.status,
    build_started_at: build.started_at,
    build_paused_ms: build.paused_ms,
    terminating_at: build.terminating_at,
    agent_seen_at: before.agent_seen_at,
    agent_heard_since: before.agent_heard_since,
  }
}

interface SweepContext {
  readonly app: App
  readonly timings: Timings
  readonly now: number
  readonly judges: boolean
}

type Verdict =
  | 'start-timeout'
  | 'pull-timeout'
  | 'silent'
  | 'never-called'
  | 'pre-steps'
  | 'post-steps'
  | 'suspect'
  | 'dead'
  | 'unreported'
  | 'age'
  | 'inactive'
  | 'stuck'

function judgeAttempt(attempt: LiveAttempt, context: SweepContext): Verdict | undefined {
  const { now, judges } = context
  const limits = readLimits(attempt)
  if (attempt.status === 'created') {
    // The wait for other starts does not count.
    if (judges && heard(context, attempt, attempt.turn_at ?? attempt.created_at) > limits.electedMs) return 'start-timeout'
    return isPullOver(attempt, context) ? 'pull-timeout' : judgeSilentEngine(attempt, context)
  }
  // The engine may already run and wait for a daemon whose image cannot be pulled.
  if (attempt.status !== 'lost' && isPullOver(attempt, context)) return 'pull-timeout'
  const isOld = attempt.build_started_at !== null && now - attempt.build_started_at - attempt.build_paused_ms > limits.buildMs
  if (isOld && (attempt.build_status === 'running' || attempt.build_status === 'pending')) return 'age'
  if (attempt.status === 'lost' || !judges) return undefined
  const verdict = judgeSilence(attempt, context) ?? judgeReport(attempt, context)
  if (verdict !== undefined || isCutOff(attempt, context)) return verdict ?? judgeStop(attempt, context)
  return judgeSteps(attempt, context) ?? (isInactive(attempt, context) ? 'inactive' : judgeStop(attempt, context))
}

/** Returns the time since `since` in which this server could have been notified of an end. Notifications use the same network path as the agent. Milliseconds. */
function heard({ app, now }: SweepContext, { agent_heard_since: agentHeardSince }: LiveAttempt, since: number): number {
  return heardMs(app.hearing, Math.max(since, agentHeardSince ?? 0), now)
}

/**
 * True if the engine is silent and its agent has not called since, so that the connection to their cluster is interrupted. Losing the attempt would
 * not help, because the next one waits until the agent confirms that nothing is left of this one.
 */
function isCutOff(attempt: LiveAttempt, { timings, now }: SweepContext): boolean {
  const { agent_seen_at: agentSeen } = attempt
  const { suspectMs = timings.suspectMs, deadMs = timings.deadMs } = readLimits(attempt)
  const from = heardFrom(attempt)
  // Engines and agents call more often than every third of `deadMs`, so the last calls of both before the interruption are at most that far apart.
  return agentSeen !== null && now - from > suspectMs && agentSeen - from <= deadMs / 3
}

/** Returns since when the engine has been silent, not counting time before its agent could be heard again. */
function heardFrom({ seen_at: seen, created_at: created, agent_heard_since: agentHeardSince }: LiveAttempt): number {
  return Math.max(seen ?? created, agentHeardSince ?? 0)
}

function isPullOver(attempt: LiveAttempt, context: SweepContext): boolean {
  const { waiting_reason: reason, waiting_since: since } = attempt
  return (
    context.judges &&
    reason === 'pod-image-error' &&
    since !== null &&
    heard(context, attempt, since) > readLimits(attempt).pullMs
  )
}

/** Checks whether the engine starts its first step, and ends after its last step, in time. */
function judgeSteps(attempt: LiveAttempt, context: SweepContext): Verdict | undefined {
  const { steps_began_at: began, steps_ended_at: ended, started_at: started } = attempt
  if (attempt.build_status !== 'running' || started === null) return undefined
  const { preStepsMs, postStepsMs } = readLimits(attempt)
  if (began === null && heard(context, attempt, started) > preStepsMs) return 'pre-steps'
  return ended !== null && heard(context, attempt, ended) > postStepsMs ? 'post-steps' : undefined
}

/** True if there was no output for `inactiveMs` and, unless only output counts, no other activity either. */
function isInactive(attempt: LiveAttempt, context: SweepContext): boolean {
  if (attempt.build_status !== 'running' || attempt.started_at === null) return false
  const { inactiveMs, activity } = readLimits(attempt)
  const active = activity === 'use' ? (attempt.active_at ?? 0) : 0
  return heard(context, attempt, Math.max(attempt.started_at, attempt.output_at ?? 0, active)) > inactiveMs
}

function judgeSilence(attempt: LiveAttempt, context: SweepContext): Verdict | undefined {
  const { timings, now } = context
  const { suspectMs = timings.suspectMs, deadMs = timings.deadMs } = readLimits(attempt)
  const silence = now - (attempt.seen_at ?? attempt.created_at)
  if (now - heardFrom(attempt) > deadMs && !isCutOff(attempt, context)) return 'dead'
  return silence > suspectMs && attempt.status === 'started' ? 'suspect' : undefined
}

/** Checks whether an engine that may still send the rest of its log has stopped sending. */
function judgeReport(attempt: LiveAttempt, context: SweepContext): Verdict | undefined {
  const { loss_at: since, output_at: outputAt } = attempt
  const { deadMs = context.timings.deadMs } = readLimits(attempt)
  return since !== null && heard(context, attempt, Math.max(since, outputAt ?? 0)) > deadMs ? 'unreported' : undefined
}

/** Checks whether the engine of a terminating build stops in time. If not, the build ends without it. */
function judgeStop(attempt: LiveAttempt, context: SweepContext): Verdict | undefined {
  const { timings } = context
  const { build_status: status, terminating_at: since, output_at: outputAt } = attempt
  if (status !== 'terminating' || since === null) return undefined
  const { terminatingMs = timings.terminatingMs, terminatingSilentMs = timings.terminatingSilentMs } = readLimits(attempt)
  const isSilent = heard(context, attempt, Math.max(since, outputAt ?? 0)) > terminatingSilentMs
  return isSilent || heard(context, attempt, since) > terminatingMs ? 'stuck' : undefined
}

async function applyVerdict(edit: BuildEdit, attempt: LiveAttempt, context: SweepContext): Promise<void> {
  const { app } = context
  const { now } = edit
  const verdict = judgeAttempt(attempt, context)
  if (verdict === undefined) return
  const message = attempt.waiting_message ?? undefined
  switch (verdict) {
    case 'start-timeout':
      // The agent has the task, so the pods may be running. They call when the cluster can be reached again.
      if (
        isCutOff(attempt, context) &&
        ((await findStartTask(edit.tx.query, { id: attempt.build_id, attempt: attempt.number }))?.revision ?? 0) > 0
      )
        return
      return loseAttempt(edit, {
        reason: attempt.waiting_reason ?? verdict,
        message: message ?? REASONS[verdict].text,
        retry: false,
      })
    case 'silent':
      return noteSilentEngine(app, edit)
    case 'never-called':
      return loseSilentEngine(app, edit)
    case 'pull-timeout':
      return loseAttempt(edit, { reason: 'pod-image-error', message, retry: false })
    case 'pre-steps':
      return loseAttempt(edit, {
        reason: 'start-timeout',
        message: message ?? `No step started within ${formatMinutes(readLimits(attempt).preStepsMs)} of the engine's start.`,
        retry: true,
      })
    case 'post-steps':
      return endEarly(edit, 'expire', {
        reason: 'too-long',
        message: `The build did not end within ${formatMinutes(readLimits(attempt).postStepsMs)} of its last step.`,
      })
    case 'suspect':
      if (moveAttempt(edit, 'lapse')) record(edit, { type: 'attempt.suspect' })
      return
    case 'dead': {
      const seconds = Math.round((now - (attempt.seen_at ?? attempt.created_at)) / 1000)
      return loseAttempt(edit, { reason: 'engine-lost', message: `The engine sent no heartbeat for ${seconds} s.`, retry: true })
    }
    case 'unreported':
      return loseAttempt(edit, { reason: 'engine-lost', retry: true })
    case 'age':
      return endEarly(edit, 'expire', { reason: 'too-long', message: REASONS['too-long'].text })
    case 'inactive':
      // A debugger has its own time limit.
      if ((await listHeld(edit.tx.query, edit.build.id)).length > 0) return
      return endEarly(edit, 'expire', { reason: 'inactive', message: REASONS.inactive.text })
    case 'stuck':
      return loseAttempt(edit, { reason: 'cancelled', message: 'The engine did not stop in time.', retry: false })
  }
}

function formatMinutes(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} minutes`
}
