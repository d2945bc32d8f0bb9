/** The reason why an attempt waits. It is the reason of its build until the attempt runs, and is recorded in the feed. */
import { REASONS, type Reason } from '@windlass/plan'
import { record, setCause, type BuildEdit, type Cause } from '../lifecycle/edit.ts'
import { DAEMON_WAITS } from '../lifecycle/waits.ts'

/** Sets why an attempt cannot start yet, or why its engine waits for the daemon, with the message of Kubernetes. */
export function noteWaiting(edit: BuildEdit, cause: Cause & { readonly reason: Reason }): void {
  const { attempt, build } = edit
  if (attempt === undefined || attempt.status === 'lost' || attempt.status === 'ended') return
  if (attempt.status !== 'created' && !DAEMON_WAITS.includes(cause.reason)) return
  if (cause.reason === 'start-limit') attempt.turn_at = edit.now
  const message = cause.message ?? REASONS[cause.reason].text
  if (attempt.waiting_reason === cause.reason && attempt.waiting_message === message) return
  if (attempt.waiting_reason !== cause.reason) attempt.waiting_since = edit.now
  attempt.waiting_reason = cause.reason
  attempt.waiting_message = message
  if (build.status === 'elected' || build.status === 'running') setCause(edit, { ...cause, message })
  record(edit, { type: 'attempt.waiting', source: 'agent', data: { reason: cause.reason, message } })
}

/** Clears the waiting reason. */
export function clearWaiting(edit: BuildEdit): void {
  const { attempt, build } = edit
  if (attempt === undefined) return
  attempt.waiting_reason = null
  attempt.waiting_message = null
  attempt.waiting_since = null
  if (build.status === 'elected' || build.status === 'running') setCause(edit, {})
}
