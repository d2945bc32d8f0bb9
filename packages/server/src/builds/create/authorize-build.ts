/** Authorization of build requests: what roles in a project or for a pipeline, keys with limited scopes, and the keys of steps may ask for. */
import { fault } from '@windlass/kit'
import { readAccountSettings } from '../../account/settings.ts'
import type { App } from '../../app.ts'
import { hidden, placesOf, requireRight, type Actor } from '../../identity/actor.ts'
import { placeOfBuild } from '../../identity/place-of.ts'
import { mayRunCommands, requireFieldScopes } from '../../identity/scopes.ts'
import { PREDECESSOR, requireReach, requireStepInput } from '../../identity/step-rights.ts'
import { readPipelineSettings } from '../../pipelines/settings.ts'
import { findPipeline } from '../../store/pipelines/pipelines.ts'
import { requireFound } from '../lifecycle/require-found.ts'
import type { Creation } from './create.ts'
import { NO_PLACE, type Place } from '../../store/places.ts'

/**
 * Throws unless the caller has the rights that the request needs for its pipeline, and for the build that it repeats: `forbidden`, or `not-found` if
 * the caller has no role there.
 */
async function requireBuildRights(app: App, actor: Actor, input: Creation['request']): Promise<void> {
  if (placesOf(actor, 'start-builds') === undefined) return
  const { pipeline, restartOf, contexts, runtime } = input
  const places: (Place | undefined)[] = []
  if (restartOf !== undefined) places.push(await placeOfBuild(app, restartOf))
  if (pipeline !== undefined) {
    const found = await findPipeline(app.store.query, app.accountId, pipeline)
    places.push(found && { project: found.project_id, pipeline: found.id })
  }
  if (places.length === 0) places.push(NO_PLACE)
  for (const place of places) {
    if (place === undefined) throw hidden()
    requireRight(actor, 'start-builds', place)
    if (contexts.length > 0) requireRight(actor, 'use-contexts', place)
    if (runtime !== undefined) requireRight(actor, 'use-runtimes', place)
  }
}

/**
 * Returns the request to carry out: as given, or for a step with the annotation that makes the new build a child of the step's build. Throws
 * the faults of missing roles, `scope-missing` for limited keys; for steps `step-key-limited`, `pipeline-out-of-reach`, `not-found` for an unknown pipeline, and
 * `request-invalid` for a request without a pipeline.
 */
export async function authorizeBuild(app: App, actor: Actor, input: Creation['request']): Promise<Creation['request']> {
  await requireBuildRights(app, actor, input)
  requireFieldScopes(actor, input)
  const request = mayRunCommands(actor) ? input : { ...input, keepsRepository: true }
  if (actor.kind !== 'build') return request
  requireStepInput(actor, input)
  if (request.pipeline === undefined)
    throw fault('request-invalid', {
      message: 'The request must name a pipeline.',
      hint: 'Add `pipeline` to the request, with the name or id of a stored pipeline.',
    })
  const { query } = app.store
  const row = requireFound(await findPipeline(query, app.accountId, request.pipeline), `pipeline "${request.pipeline}"`)
  const target = { id: row.id, name: row.name, projectId: row.project_id, settings: readPipelineSettings(row) }
  requireReach(actor, target, await readAccountSettings(query, app.accountId))
  return { ...request, annotations: { [PREDECESSOR]: actor.buildId } }
}
