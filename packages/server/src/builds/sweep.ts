/**
 * What nobody sends a message about: engines that fell silent, attempts that do not start, builds that are too old or do not end. Judged by
 * this server's clock alone; after a start, a pause of the process or a jump of the clock, nobody is judged for one whole lease.
 */
import { attempt as guarded, ticks } from '@windlass/kit'
import { REASONS } from '@windlass/plan'
import { readAccountSettings } from '../account/settings.ts'
import type { App } from '../app.ts'
import { listHeld } from '../debug/debug.ts'
import type { Timings } from '../server.ts'
import { listLiveAttempts, type LiveAttempt } from '../store/attempts.ts'
import { listExcessBuilds, listOverdueBuilds } from '../store/waiting.ts'
import { expireApprovals } from './approve.ts'
import { editBuild, moveAttempt, record, saveBuild, type BuildEdit } from './edit.ts'
import { readLimits } from './limits.ts'
import { loseAttempt } from './lose.ts'
import { hasOpenSteps } from './open-steps.ts'
import { endEarly } from './terminate.ts'

/** Clocks that disagree by more than this were jumped, or this process stood still. Milliseconds. */
const MAX_DRIFT_MS = 2000

/** Sweeps every `sweepMs` until the server closes. */
export async function sweepLoop(app: App): Promise<void> {
  const { clock, timings } = app
  let judgeFrom = clock.monotonic() + timings.deadMs
  let last = { wall: clock.now(), steady: clock.monotonic() }
  for await (const _ of ticks(timings.sweepMs, { clock, signal: app.closing })) {
    const next = { wall: clock.now(), steady: clock.monotonic() }
    const passed = next.steady - last.steady
    if (
      Math.abs(next.wall - last.wall - passed) > MAX_DRIFT_MS ||
      passed > timings.sweepMs + Math.max(MAX_DRIFT_MS, timings.suspectMs / 2)
    ) {
      app.log.warn({ wallMs: next.wall - last.wall, steadyMs: passed }, 'clock jumped or process stood still: leases start anew')
      judgeFrom = next.steady + timings.deadMs
    }
    last = next
    await guarded(app.log, 'sweep', () => sweep(app, next.steady >= judgeFrom))
  }
}

/** One look at everything that lives. `judgesLeases` is false while engines had no chance yet to be heard. */
export async function sweep(app: App, judgesLeases: boolean): Promise<void> {
  const view = { timings: app.timings, now: app.clock.now(), judgesLeases }
  for (const attempt of await listLiveAttempts(app.store.query)) {
    const verdict = judgeAttempt(attempt, view)
    if (verdict === undefined || (verdict === 'post-steps' && (await hasOpenSteps(app, attempt)))) continue
    await editDue(app, attempt.build_id, (edit) =>
      carryOut(edit, edit.attempt?.number === attempt.number ? judgeAttempt(toLive(edit), view) : undefined),
    )
  }
  await expireApprovals(app)
  await expireQueue(app, view.now)
}

const DAY_MS = 86_400_000

/** Builds that wait for too long, and the oldest of too many (pipeline language 1.6). */
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

function toLive({ attempt, build }: BuildEdit): LiveAttempt | undefined {
  if (attempt === undefined) return undefined
  return {
    ...attempt,
    build_status: build.status,
    build_started_at: build.started_at,
    build_paused_ms: build.paused_ms,
    terminating_at: build.terminating_at,
  }
}

interface View {
  readonly timings: Timings
  readonly now: number
  readonly judgesLeases: boolean
}

type Verdict = 'start-timeout' | 'pull-timeout' | 'pre-steps' | 'post-steps' | 'suspect' | 'dead' | 'age' | 'inactive' | 'stuck'

function judgeAttempt(attempt: LiveAttempt | undefined, view: View): Verdict | undefined {
  if (attempt === undefined) return undefined
  const { now } = view
  const limits = readLimits(attempt)
  if (attempt.status === 'created') {
    if (now - attempt.created_at > limits.electedMs) return 'start-timeout'
    return isPullOver(attempt, now) ? 'pull-timeout' : undefined
  }
  // The engine may run already, and wait for a daemon whose image does not come.
  if (attempt.status !== 'lost' && isPullOver(attempt, now)) return 'pull-timeout'
  const isOld = attempt.build_started_at !== null && now - attempt.build_started_at - attempt.build_paused_ms > limits.buildMs
  if (isOld && (attempt.build_status === 'running' || attempt.build_status === 'pending')) return 'age'
  if (attempt.status === 'lost') return undefined
  return (
    judgeSilence(attempt, view) ?? judgeSteps(attempt, now) ?? (isInactive(attempt, now) ? 'inactive' : judgeStop(attempt, view))
  )
}

function isPullOver(attempt: LiveAttempt, now: number): boolean {
  const { waiting_reason: reason, waiting_since: since } = attempt
  return reason === 'pod-image-error' && since !== null && now - since > readLimits(attempt).pullMs
}

/** An engine that does not come to its first step, or does not end after its last one. */
function judgeSteps(attempt: LiveAttempt, now: number): Verdict | undefined {
  const { steps_began_at: began, steps_ended_at: ended, started_at: started } = attempt
  if (attempt.build_status !== 'running' || started === null) return undefined
  const { preStepsMs, postStepsMs } = readLimits(attempt)
  if (began === null && now - started > preStepsMs) return 'pre-steps'
  return ended !== null && now - ended > postStepsMs ? 'post-steps' : undefined
}

/** Nothing was written, and, unless output alone counts, nothing else has happened either. */
function isInactive(attempt: LiveAttempt, now: number): boolean {
  if (attempt.build_status !== 'running' || attempt.started_at === null) return false
  const { inactiveMs, activity } = readLimits(attempt)
  const active = activity === 'use' ? (attempt.active_at ?? 0) : 0
  return now - Math.max(attempt.started_at, attempt.output_at ?? 0, active) > inactiveMs
}

function judgeSilence(attempt: LiveAttempt, { timings, now, judgesLeases }: View): Verdict | undefined {
  if (!judgesLeases) return undefined
  const { suspectMs = timings.suspectMs, deadMs = timings.deadMs } = readLimits(attempt)
  const silence = now - (attempt.seen_at ?? attempt.created_at)
  if (silence > deadMs) return 'dead'
  return silence > suspectMs && attempt.status === 'started' ? 'suspect' : undefined
}

/** A terminating build whose engine does not come to an end is ended without it. */
function judgeStop(attempt: LiveAttempt, { timings, now }: View): Verdict | undefined {
  const { build_status: status, terminating_at: since, output_at: outputAt } = attempt
  if (status !== 'terminating' || since === null) return undefined
  const { terminatingMs = timings.terminatingMs, terminatingSilentMs = timings.terminatingSilentMs } = readLimits(attempt)
  const silentSince = Math.max(since, outputAt ?? 0)
  return now - since > terminatingMs || now - silentSince > terminatingSilentMs ? 'stuck' : undefined
}

async function carryOut(edit: BuildEdit, verdict: Verdict | undefined): Promise<void> {
  const { attempt, now } = edit
  if (attempt === undefined || verdict === undefined) return
  const words = attempt.waiting_message ?? undefined
  switch (verdict) {
    case 'start-timeout':
      return loseAttempt(edit, {
        reason: attempt.waiting_reason ?? verdict,
        message: words ?? REASONS[verdict].text,
        retry: false,
      })
    case 'pull-timeout':
      return loseAttempt(edit, { reason: 'pod-image-error', message: words, retry: false })
    case 'pre-steps':
      return loseAttempt(edit, {
        reason: 'start-timeout',
        message: words ?? `No step began within ${minutesOf(readLimits(attempt).preStepsMs)} of the engine's start.`,
        retry: true,
      })
    case 'post-steps':
      return endEarly(edit, 'expire', {
        reason: 'too-long',
        message: `The build did not come to its end within ${minutesOf(readLimits(attempt).postStepsMs)} of its last step.`,
      })
    case 'suspect':
      if (moveAttempt(edit, 'lapse')) record(edit, { type: 'attempt.suspect' })
      return
    case 'dead': {
      const seconds = Math.round((now - (attempt.seen_at ?? attempt.created_at)) / 1000)
      return loseAttempt(edit, { reason: 'engine-lost', message: `The engine was not heard of for ${seconds} s.`, retry: true })
    }
    case 'age':
      return endEarly(edit, 'expire', { reason: 'too-long', message: REASONS['too-long'].text })
    case 'inactive':
      // A debugger has a time limit of its own.
      if ((await listHeld(edit.tx.query, edit.build.id)).length > 0) return
      return endEarly(edit, 'expire', { reason: 'inactive', message: REASONS.inactive.text })
    case 'stuck':
      return loseAttempt(edit, { reason: 'cancelled', message: 'The engine did not stop in time.', retry: false })
  }
}

function minutesOf(ms: number): string {
  return ms < 120_000 ? `${Math.round(ms / 1000)} s` : `${Math.round(ms / 60_000)} minutes`
}
