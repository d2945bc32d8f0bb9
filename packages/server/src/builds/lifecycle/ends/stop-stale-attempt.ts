import { findAttempt, updateAttempt } from '../../../store/builds/attempts.ts'
import { openEdit, type BuildEdit } from '../edit.ts'
import { stopAttempt } from './end-attempt.ts'

/**
 * Stops the objects of an attempt that its agent has seen although the attempt is over. Returns true if the latest attempt of the build was changed
 * and must be saved.
 */
export async function stopStaleAttempt(
  edit: BuildEdit,
  seen: { readonly agentId: string; readonly attempt: number },
): Promise<boolean> {
  const { build, tx, now } = edit
  const isLatest = seen.attempt === build.attempt
  const row = isLatest ? edit.attempt : await findAttempt(tx.query, build.id, seen.attempt)
  if (row === undefined || row.agent_id !== seen.agentId) return false
  if (row.status !== 'ended' && row.status !== 'lost') return false
  row.gone = 0
  await stopAttempt(isLatest ? edit : openEdit(tx, build, row, now), 0)
  if (!isLatest) await updateAttempt(tx, row, { gone: row.gone })
  return isLatest
}
