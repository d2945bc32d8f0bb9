/** Authorization of build requests: what keys with limited scopes and the keys of steps may ask for. */
import { fault } from '@windlass/kit'
import { readAccountSettings } from '../../account/settings.ts'
import type { App } from '../../app.ts'
import type { Actor } from '../../identity/actor.ts'
import { mayRunCommands, requireFieldScopes } from '../../identity/scopes.ts'
import { PREDECESSOR, requireReach, requireStepInput } from '../../identity/step-rights.ts'
import { readPipelineSettings } from '../../pipelines/settings.ts'
import { findPipeline } from '../../store/account/pipelines.ts'
import { requireFound } from '../lifecycle/require-found.ts'
import type { Creation } from './create.ts'

/**
 * Returns the request to carry out: as given, or for a step with the annotation that makes the new build a child of the step's build. Throws
 * `scope-missing` for limited keys; for steps `step-key-limited`, `pipeline-out-of-reach`, `not-found` for an unknown pipeline, and
 * `request-invalid` for a request without a pipeline.
 */
export async function authorizeBuild(app: App, actor: Actor, input: Creation['request']): Promise<Creation['request']> {
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
