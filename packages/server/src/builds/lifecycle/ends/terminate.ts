/** Termination of builds: at once if nothing runs, otherwise by a command to the engine. */
import { fault } from '@windlass/kit'
import { isFinalBuild, REASONS, type Reason } from '@windlass/plan'
import type { App } from '../../../app.ts'
import { noteSubject } from '../../../audit/call.ts'
import { TERMINATE_REASONS } from '@windlass/protocol'
import { insertCommand } from '../../../store/builds/commands.ts'
import type { BuildRow } from '../../../store/schema/schema.ts'
import type { Within } from '../../../store/store.ts'
import { editBuild, moveBuild, record, saveBuild, type BuildEdit, type Cause } from '../edit.ts'
import { finishBuild, loseAttempt, releaseVolume } from './end-attempt.ts'
import { nameOf } from '../view.ts'
import { PREDECESSOR } from '../../../identity/step-rights.ts'
import { readPipelineSettings } from '../../../pipelines/settings.ts'
import { listLiveAnnotated } from '../../../store/builds/annotations.ts'
import { listLiveChildren } from '../../../store/builds/builds.ts'
import { findPipeline } from '../../../store/pipelines/pipelines.ts'

/**
 * Terminates a build for the user `by`. Does nothing if it is already terminating. `within` runs in the same transaction. Throws `not-found`,
 * `build-final`.
 */
export async function terminateBuild(app: App, id: string, by: string, within?: Within<BuildRow>): Promise<BuildRow> {
  return app.store.write(async (tx) => {
    const edit = await editBuild(tx, id, app.clock.now())
    if (edit === undefined || edit.build.account_id !== app.accountId)
      throw fault('not-found', { message: `Build ${id} does not exist.` })
    if (isFinalBuild(edit.build.status)) throw fault('build-final', { message: `The build has ended: ${edit.build.status}.` })
    noteSubject(nameOf(edit.build))
    await endEarly(edit, 'cancel', { reason: 'cancelled', message: `Terminated by ${by}.` })
    await saveBuild(edit)
    await within?.(tx, edit.build)
    return edit.build
  })
}

/** Ends a build early. `expire` means that a limit of the build was reached. `ended` are builds that already end for the same cause. */
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

/** Ends the children of a build that is terminated, if its pipeline has such a policy. */
export async function endChildren(edit: BuildEdit, ended: ReadonlySet<string>): Promise<void> {
  const { build, tx } = edit
  if (build.pipeline_id === null) return
  const pipeline = await findPipeline(tx.query, build.account_id, build.pipeline_id)
  for (const policy of readPipelineSettings(pipeline).terminationPolicy) {
    if (policy.type !== 'annotation' || policy.event !== 'onTerminate') continue
    const values = [JSON.stringify(build.id)]
    const children =
      policy.key === PREDECESSOR
        ? await listLiveChildren(tx.query, build.id)
        : await listLiveAnnotated(tx.query, { accountId: build.account_id, name: policy.key, values })
    const message = `Parent build ${build.number} was terminated.`
    await endAll(
      edit,
      // Annotations may form a cycle.
      children.filter((id) => !ended.has(id)),
      { reason: 'parent-terminated', message, ended },
    )
  }
}

export async function endAll(
  { tx, now }: BuildEdit,
  ids: readonly string[],
  cause: { reason: Reason; message: string; ended?: ReadonlySet<string> },
): Promise<void> {
  for (const id of ids) {
    const other = await editBuild(tx, id, now)
    if (other === undefined) continue
    await endEarly(other, 'cancel', cause)
    await saveBuild(other)
  }
}
