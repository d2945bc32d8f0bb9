/** Whether the last step of an attempt has ended, asked when a step ended long ago and none began since. */
import { isFinalStep } from '@windlass/plan'
import type { App } from '../app.ts'
import { updateAttempt } from '../store/attempts.ts'
import { findBuild, findBuildPlan } from '../store/builds.ts'
import type { AttemptRow } from '../store/schema.ts'
import { readPlan, readSnapshot } from './snapshot.ts'

/** True while a step runs beside the one that ended, or is still to come; then it is not asked again before the next one ends. */
export async function hasOpenSteps(app: App, attempt: AttemptRow): Promise<boolean> {
  const { query } = app.store
  const build = await findBuild(query, attempt.account_id, attempt.build_id)
  const stored = await findBuildPlan(query, attempt.build_id)
  const plan = stored === undefined ? undefined : readPlan(stored)
  if (build === undefined || plan === undefined) return false
  const { steps } = await readSnapshot(app, query, { build, plan, open: false })
  if (Object.values(steps).every(({ status }) => isFinalStep(status))) return false
  await app.store.write((tx) =>
    updateAttempt(tx, { build_id: attempt.build_id, number: attempt.number }, { steps_ended_at: null }),
  )
  return true
}
