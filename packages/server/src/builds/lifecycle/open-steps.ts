/** A check whether all steps of an attempt have ended, made if a step ended long ago and no other has started since. */
import { isFinalStep } from '@windlass/plan'
import type { App } from '../../app.ts'
import { updateAttempt } from '../../store/builds/attempts.ts'
import { findBuild, findBuildPlan } from '../../store/builds/builds.ts'
import type { AttemptRow } from '../../store/schema/schema.ts'
import { readPlan, readSnapshot } from '../create/snapshot.ts'

/** Returns true while another step runs or is still pending. In that case it also clears `steps_ended_at`, so that the next check comes after the next step ends. */
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
