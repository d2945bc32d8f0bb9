/** Documents that engines fetch for their builds. They are compiled and frozen with the build. */
import { fault } from '@windlass/kit'
import { hasErrors, type Compiled } from '@windlass/pipeline'
import type { EngineDocumentAnswer } from '@windlass/protocol'
import type { App } from '../app.ts'
import { readAccountSettings } from '../account/settings.ts'
import { readStepTypes } from '../builds/create/compile-document.ts'
import { toProblem } from '../builds/create/create.ts'
import { summarizeErrors } from '../builds/create/summarize-errors.ts'
import { editBuild, record, saveBuild } from '../builds/lifecycle/edit.ts'
import { recordHeartbeat } from '../builds/engine/record-heartbeat.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { readPlan } from '../builds/create/snapshot.ts'
import { readAccountContext } from '../contexts/account-context.ts'
import { findBuildPlan, updateBuildPlan } from '../store/builds/builds.ts'
import { compileFetched } from './resolve-source.ts'
import type { AttemptKey } from '../store/builds/attempts.ts'

/** Compiles the document and returns its plan, or a message about its errors. Sending it again gives the same result. Throws `attempt-stale`. */
export async function takeDocument(app: App, key: AttemptKey, text: string): Promise<EngineDocumentAnswer> {
  const stored = requireFound(await findBuildPlan(app.store.query, key.buildId), `plan of build ${key.buildId}`)
  const waiting = readPlan(stored)
  if (waiting === undefined) throw fault('attempt-stale')
  if (waiting.source === undefined) return { plan: waiting }
  const { variables, source, mainClone } = waiting
  const account = await readAccountContext(app, {
    layers: variables,
    settings: await readAccountSettings(app.store.query, app.accountId),
  })
  const outer: Compiled = { plan: waiting, problems: [], stepTypes: readStepTypes(stored) }
  const file = source.location === 'git' ? source.path : source.url
  const done = await compileFetched(app, { outer, file, text }, { variables, account, mainClone })
  const plan = done.plan === undefined || hasErrors(done.problems) ? undefined : { ...done.plan, variables }
  await app.store.write(async (tx) => {
    const edit = await editBuild(tx, key.buildId, app.clock.now())
    if (edit === undefined || !recordHeartbeat(edit, key.attempt)) throw fault('attempt-stale')
    await updateBuildPlan(tx, key.buildId, {
      fetched: done.fetched ?? null,
      problems: done.problems.length === 0 ? null : JSON.stringify(done.problems.map(toProblem)),
      ...(plan !== undefined && { plan: JSON.stringify(plan) }),
      ...(done.stepTypes.length > 0 && { step_types: JSON.stringify(done.stepTypes) }),
    })
    const stepTypes = done.stepTypes.map(({ name, version }) => ({ name, version }))
    record(edit, { type: 'build.resolved', data: { document: file, steps: plan?.steps.length ?? 0, stepTypes } })
    await saveBuild(edit)
  })
  return plan === undefined
    ? { message: summarizeErrors(done.problems)?.message ?? 'The pipeline cannot be compiled.' }
    : { plan }
}
