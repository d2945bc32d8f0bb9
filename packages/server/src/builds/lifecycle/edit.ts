/**
 * A build that is being changed: its locked row, its latest attempt, and the new events. Every change of state goes through here, so that it
 * follows the transition tables of `plan`, takes the next position of the feed, and is written in one transaction.
 */
import { attemptTransition, isFinalBuild, transition, type AttemptTrigger, type BuildTrigger, type Reason } from '@windlass/plan'
import { SETTLE_MS } from '../../logs/objects/object-keys.ts'
import { queueNotice } from '../../notifications/queue.ts'
import { findAttempt, updateAttempt } from '../../store/builds/attempts.ts'
import { changedTopic, lockBuild, updateBuild } from '../../store/builds/builds.ts'
import { commandTopic } from '../../store/builds/commands.ts'
import { insertEvents } from '../../store/builds/events.ts'
import type { AttemptRow, BuildRow, EventRow } from '../../store/schema/schema.ts'
import { reportChange } from '../../statuses/report.ts'
import type { Tx } from '../../store/store.ts'
import { reportEnd } from '../../triggers/events/report-end.ts'
import { recordStats } from './record-stats.ts'
import { waitOf } from './waits.ts'

export interface BuildEdit {
  readonly tx: Tx
  readonly now: number
  /** The stored rows. */
  readonly before: Readonly<BuildRow>
  readonly attemptBefore: Readonly<AttemptRow> | undefined
  /** The rows to write. */
  readonly build: BuildRow
  readonly attempt: AttemptRow | undefined
  readonly events: EventRow[]
}

/** Wakes the election after capacity was freed or a build was queued. */
export const ELECT_TOPIC = 'elect'

/** Returns the topic that followers of a build watch. */
export function feedTopic(buildId: string): string {
  return `feed:${buildId}`
}

/** Locks a build and reads its latest attempt. Returns undefined if the build does not exist. */
export async function editBuild(tx: Tx, id: string, now: number): Promise<BuildEdit | undefined> {
  const row = await lockBuild(tx, id)
  if (row === undefined) return undefined
  return openEdit(tx, row, row.attempt === 0 ? undefined : await findAttempt(tx.query, id, row.attempt), now)
}

/** Locks a build and reads the given attempt, by default the latest. An older attempt can be edited so that it is cleaned up. */
export async function editAttempt(
  tx: Tx,
  buildId: string,
  attempt: number | undefined,
  now: number,
): Promise<BuildEdit | undefined> {
  const edit = await editBuild(tx, buildId, now)
  if (edit === undefined || attempt === undefined || edit.build.attempt === attempt) return edit
  return openEdit(tx, edit.build, await findAttempt(tx.query, buildId, attempt), now)
}

/** Starts an edit of rows that are already locked or were just created. */
export function openEdit(tx: Tx, build: BuildRow, attempt: AttemptRow | undefined, now: number): BuildEdit {
  return {
    tx,
    now,
    before: { ...build },
    attemptBefore: attempt === undefined ? undefined : { ...attempt },
    build,
    attempt,
    events: [],
  }
}

export interface NewEvent {
  readonly type: string
  readonly data?: Record<string, unknown>
  readonly source?: EventRow['source']
  /** Number assigned by the source. Defaults to the position, for events of the server and of agents. */
  readonly seq?: number
  readonly at?: number
}

/** Adds an event to the feed of the build. */
export function record(edit: BuildEdit, event: NewEvent): void {
  const position = edit.build.feed_position + 1
  edit.build.feed_position = position
  edit.events.push({
    build_id: edit.build.id,
    position,
    account_id: edit.build.account_id,
    attempt: edit.build.attempt,
    source: event.source ?? 'server',
    seq: event.seq ?? position,
    at: event.at ?? edit.now,
    type: event.type,
    data: JSON.stringify(event.data ?? {}),
  })
}

export interface Cause {
  readonly reason?: Reason | undefined
  readonly message?: string | undefined
  readonly hint?: string | undefined
}

/** Moves the build to its next state and sets the cause. Returns false if the transition does not apply, as for late and repeated triggers. */
export function moveBuild(edit: BuildEdit, trigger: BuildTrigger, cause: Cause = {}): boolean {
  const { build, now } = edit
  const next = transition(build.status, trigger)
  if (next === undefined) return false
  if (build.status === 'pending-approval' && build.paused_at !== null) {
    build.paused_ms += now - build.paused_at
    build.paused_at = null
  }
  build.status = next
  setCause(edit, cause)
  if (next === 'pending') build.queued_at = now
  if (next === 'pending-approval') build.paused_at = now
  if (next === 'elected') build.elected_at = now
  if (next === 'running') build.started_at ??= now
  if (next === 'terminating') build.terminating_at = now
  if (isFinalBuild(next)) {
    build.finished_at = now
    build.end_reported = 1
    if (build.feed_position >= MIN_COMPACTED) build.compact_at ??= now + SETTLE_MS
    edit.tx.measure((metrics) => {
      metrics.builds.inc({ result: next })
      metrics.buildDuration.observe({ result: next }, (now - build.created_at) / 1000)
      metrics.buildEnded(build.id)
    })
  }
  return true
}

/** Feeds with fewer positions have few log files and are not compacted. */
const MIN_COMPACTED = 32

/** Sets why the build is in its state or waits. */
export function setCause(edit: BuildEdit, cause: Cause): void {
  edit.build.reason = cause.reason ?? null
  edit.build.message = cause.message?.slice(0, MAX_MESSAGE) ?? null
  edit.build.hint = cause.hint?.slice(0, MAX_MESSAGE) ?? null
}

const MAX_MESSAGE = 8192

/** Moves the attempt to its next state. Returns false if the transition does not apply. */
export function moveAttempt(edit: BuildEdit, trigger: AttemptTrigger): boolean {
  if (edit.attempt === undefined) return false
  const next = attemptTransition(edit.attempt.status, trigger)
  if (next === undefined) return false
  edit.attempt.status = next
  if (next === 'ended' || next === 'lost') edit.attempt.ended_at ??= edit.now
  return true
}

/** Writes the changed columns and the new events, and wakes the watchers. */
export async function saveBuild(edit: BuildEdit): Promise<void> {
  const { tx, build, before, attempt, attemptBefore } = edit
  noteWait(edit)
  const changes = difference(before, build)
  if (Object.keys(changes).length > 0) {
    await updateBuild(tx, build.id, changes)
    tx.wake(changedTopic(build.id))
  }
  if (attempt !== undefined && attemptBefore !== undefined) {
    const attemptChanges = difference(attemptBefore, attempt)
    if (Object.keys(attemptChanges).length > 0) await updateAttempt(tx, attempt, attemptChanges)
    const isOver = attempt.status === 'lost' || attempt.status === 'ended'
    if (isOver && attempt.status !== attemptBefore.status) {
      tx.wake(ELECT_TOPIC)
      tx.wake(commandTopic(build.id))
    }
  }
  await insertEvents(tx, edit.events)
  if (isFinalBuild(build.status) && !isFinalBuild(before.status)) await recordStats(tx, build)
  await announce(edit)
  if (build.feed_position !== before.feed_position || build.status !== before.status) tx.wake(feedTopic(build.id))
  if (build.status === 'pending' && (before.status !== 'pending' || build.held !== before.held)) tx.wake(ELECT_TOPIC)
}

/** Stores what forges, people and triggers are told about a change of the status since `before`. */
export async function announce({ tx, now, before, build }: Pick<BuildEdit, 'tx' | 'now' | 'before' | 'build'>): Promise<void> {
  await reportChange(tx, before, build, now)
  if (isFinalBuild(build.status) && !isFinalBuild(before.status)) await queueNotice(tx, build, { now })
  await reportEnd({ tx, now, before, build })
}

/** Measures a wait that ends, or whose reason changes. */
function noteWait({ tx, build, before, now }: BuildEdit): void {
  if (build.status === before.status && build.reason === before.reason) return
  build.waits_since = now
  const reason = waitOf(before)
  const since = before.waits_since
  if (reason !== undefined && since !== null)
    tx.measure((metrics) => metrics.waits.observe({ reason }, Math.max(0, now - since) / 1000))
}

function difference<T extends object>(before: T, after: T): Partial<T> {
  const changes: Partial<T> = {}
  for (const key in after) if (after[key] !== before[key]) changes[key] = after[key]
  return changes
}
