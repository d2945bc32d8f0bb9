import { moveAttempt, record, type BuildEdit } from './edit.ts'

/** Between two notes of an engine's sign of life. Milliseconds. */
const NOTE_EVERY_MS = 1000

/**
 * A sign of life of an attempt's engine: false when the attempt is not the live one, and its writer must stop. A suspect attempt
 * is trusted again.
 */
export function hear(edit: BuildEdit, number: number): boolean {
  const { attempt, now } = edit
  if (attempt === undefined || attempt.number !== number) return false
  const wasSuspect = attempt.status === 'suspect'
  if (!moveAttempt(edit, 'heartbeat')) return false
  if (wasSuspect) record(edit, { type: 'attempt.resumed' })
  if (attempt.seen_at === null || now - attempt.seen_at >= NOTE_EVERY_MS) attempt.seen_at = now
  return true
}
