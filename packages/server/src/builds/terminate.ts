/** Asking a build to end: at once where nothing runs, by a command to its engine where something does. */
import { fault } from '@windlass/kit'
import { isFinalBuild, REASONS, type Reason } from '@windlass/plan'
import type { App } from '../app.ts'
import { TERMINATE_REASONS } from '@windlass/protocol'
import { insertCommand } from '../store/commands.ts'
import type { BuildRow } from '../store/schema.ts'
import { editBuild, moveBuild, record, saveBuild, type BuildEdit, type Cause } from './edit.ts'
import { finishBuild, loseAttempt, releaseVolume } from './lose.ts'
import { endChildren } from './policies.ts'

/** Terminates a build on somebody's word. Asking again while it is terminating is harmless. Throws `not-found`, `build-final`. */
export async function terminateBuild(app: App, id: string, by: string): Promise<BuildRow> {
  return app.store.write(async (tx) => {
    const edit = await editBuild(tx, id, app.clock.now())
    if (edit === undefined || edit.build.account_id !== app.accountId)
      throw fault('not-found', { message: `There is no build ${id}.` })
    if (isFinalBuild(edit.build.status)) throw fault('build-final', { message: `The build has ended: ${edit.build.status}.` })
    await endEarly(edit, 'cancel', { reason: 'cancelled', message: `Terminated by ${by}.` })
    await saveBuild(edit)
    return edit.build
  })
}

/** Ends a build before its time. `expire` says that its own limit did it. `ended`: builds that end already for the same cause. */
export async function endEarly(
  edit: BuildEdit,
  trigger: 'cancel' | 'expire',
  cause: Cause & { reason: Reason; ended?: ReadonlySet<string> },
): Promise<void> {
  const { build, attempt } = edit
  if (build.status === 'terminating' || isFinalBuild(build.status)) return
  await endChildren(edit, new Set([...(cause.ended ?? []), build.id]))
  if (build.status === 'pending-approval') await releaseVolume(edit)
  if (build.status !== 'elected' && build.status !== 'running') return finishBuild(edit, trigger, cause)
  if (!moveBuild(edit, trigger, cause)) return
  build.cancel_reason = cause.reason
  record(edit, {
    type: 'build.terminating',
    data: { reason: cause.reason, message: cause.message ?? REASONS[cause.reason].text },
  })
  if (attempt === undefined || attempt.status === 'created')
    return loseAttempt(edit, { reason: cause.reason, message: cause.message, retry: false })
  await insertCommand(
    edit.tx,
    { build_id: build.id, attempt: attempt.number, at: edit.now },
    { type: 'terminate', reason: TERMINATE_REASONS.find((reason) => reason === cause.reason) ?? 'cancelled' },
  )
}
