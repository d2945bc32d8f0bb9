/**
 * Manual confirmation that nothing of an attempt is left, for clusters that no longer exist and whose agents can never report it. Until then such
 * attempts count against every limit, and their builds wait. If the agent does return, it gets the task to remove the objects
 * (`stopStaleAttempt`).
 */
import { fault } from '@windlass/kit'
import type { App } from '../../../app.ts'
import { isLiveAttempt, listUnconfirmed, type AttemptOf } from '../../../store/builds/attempts.ts'
import { findAgentById } from '../../../store/runtimes/agents.ts'
import type { AttemptRow, BuildRow } from '../../../store/schema/schema.ts'
import type { Tx } from '../../../store/store.ts'
import { lockOpenTasks, updateTask } from '../../../store/runtimes/tasks.ts'
import { editAttempt, saveBuild, type BuildEdit } from '../edit.ts'
import { confirmGone, loseAttempt } from './end-attempt.ts'

export interface GoneCall {
  readonly buildId: string
  /** Number of the attempt. Defaults to the latest one. */
  readonly attempt?: number | undefined
  /** Name of the caller. */
  readonly by: string
}

/** Confirms that nothing of an attempt is left. Repeating it changes nothing. Throws `not-found`, and `conflict` while the attempt may still run. */
export async function confirmAttempt(app: App, { buildId, attempt: number, by }: GoneCall): Promise<BuildRow> {
  return app.store.write(async (tx) => {
    const edit = await editAttempt(tx, buildId, number, app.clock.now())
    if (edit === undefined || edit.build.account_id !== app.accountId)
      throw fault('not-found', { message: `Build ${buildId} does not exist.` })
    const { attempt } = edit
    if (attempt === undefined)
      throw fault('not-found', { message: `Build ${buildId} has no attempt${number === undefined ? '' : ` ${number}`}.` })
    if (await mayRun(app, tx, attempt))
      throw fault('conflict', {
        message: `Attempt ${attempt.number} of the build is not lost and may still be running.`,
        hint: `Retry after ${Math.round(app.timings.deadMs / 1000)} s without a heartbeat, or stop the build with \`windlass terminate ${buildId}\`.`,
      })
    await loseSilent(edit)
    await confirm(edit, by)
    await saveBuild(edit)
    return edit.build
  })
}

/**
 * Confirms that nothing is left of the attempts of an agent or on a runtime environment. With `loses` as the cause, attempts that may still run are
 * also marked as lost, because they can no longer be stopped. Returns the number of attempts.
 */
export async function abandonAttempts(
  app: App,
  tx: Tx,
  of: AttemptOf & { readonly by: string; readonly loses?: string },
): Promise<number> {
  const now = app.clock.now()
  const attempts = await listUnconfirmed(tx.query, of)
  let count = 0
  for (const { build_id: buildId, number } of attempts) {
    const edit = await editAttempt(tx, buildId, number, now)
    if (edit?.attempt === undefined) continue
    if (await mayRun(app, tx, edit.attempt)) {
      if (of.loses === undefined) continue
      await loseAttempt(edit, { reason: 'agent-lost', message: of.loses, retry: true })
    }
    await loseSilent(edit)
    await confirm(edit, of.by)
    await saveBuild(edit)
    count += 1
  }
  return count
}

async function confirm(edit: BuildEdit, by: string): Promise<void> {
  const { attempt, tx, now } = edit
  if (attempt === undefined) return
  for (const { id } of await lockOpenTasks(tx, { id: attempt.build_id, attempt: attempt.number }))
    await updateTask(tx, id, { status: 'withdrawn', done_at: now })
  confirmGone(edit, by)
}

/** False for a lost attempt, and for one that only waits for its agent: no heartbeat of the engine, or no call of the agent before it has one, for more than `deadMs`. */
async function mayRun({ clock, timings }: App, tx: Tx, attempt: AttemptRow): Promise<boolean> {
  if (!isLiveAttempt(attempt.status)) return false
  const seen = attempt.seen_at ?? (await findAgentById(tx.query, attempt.agent_id))?.last_seen_at
  return seen === undefined || seen === null || clock.now() - seen <= timings.deadMs
}

/** Marks the attempt as lost. Does nothing if it is already lost. */
function loseSilent(edit: BuildEdit): Promise<void> {
  return loseAttempt(edit, { reason: 'agent-lost', message: 'Neither the engine nor the agent responded.', retry: true })
}
