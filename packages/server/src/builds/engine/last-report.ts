/**
 * Attempts that are over while their engine may still report, because its container restarts with its spool or because only another pod of the
 * attempt is lost. The attempt is marked as lost once the engine has sent its log and its end, or stops sending. The next attempt starts after that.
 */
import { record, setCause, type BuildEdit } from '../lifecycle/edit.ts'
import { loseAttempt, writeLoss, type Loss } from '../lifecycle/ends/end-attempt.ts'

/** Stores the loss and lets the engine report. An engine that has not claimed its attempt has nothing to report, so the attempt is lost at once. */
export async function awaitLastReport(edit: BuildEdit, loss: Loss): Promise<void> {
  const { attempt, build } = edit
  if (attempt === undefined || attempt.loss !== null) return
  if (attempt.claim_key === null) return loseAttempt(edit, loss)
  const { reason, message } = loss
  attempt.loss = writeLoss({ reason, message, permanent: !loss.retry })
  attempt.loss_at = edit.now
  record(edit, { type: 'attempt.waiting', source: 'agent', data: { reason, message } })
  if (build.status === 'running') setCause(edit, { reason, message })
}
