import { moveAttempt, record, type BuildEdit } from '../lifecycle/edit.ts'

/** Minimum time between two updates of `seen_at`. Milliseconds. */
const UPDATE_EVERY_MS = 1000

/**
 * Records that the engine of an attempt is alive. A suspect attempt becomes `started` again. Returns false if the attempt is not the live one; the
 * caller must then reject the write.
 */
export function recordHeartbeat(edit: BuildEdit, number: number): boolean {
  const { attempt, now } = edit
  if (attempt === undefined || attempt.number !== number) return false
  const wasSuspect = attempt.status === 'suspect'
  if (!moveAttempt(edit, 'heartbeat')) return false
  if (wasSuspect) record(edit, { type: 'attempt.resumed' })
  if (attempt.seen_at === null || now - attempt.seen_at >= UPDATE_EVERY_MS) attempt.seen_at = now
  return true
}
