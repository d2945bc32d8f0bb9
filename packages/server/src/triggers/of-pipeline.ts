/** What Git and cron triggers have in common: both belong to a pipeline, come with its document or from a user, and have variables. */
import { fault } from '@windlass/kit'
import type { GitTrigger } from '@windlass/protocol'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import type { AuthorizePipeline } from '../pipelines/pipeline-use.ts'
import { findPipeline, lockPipeline } from '../store/account/pipelines.ts'
import type { PipelineRow } from '../store/schema.ts'
import type { Tx } from '../store/store.ts'

export interface TriggerList {
  /** Name or id; undefined for all pipelines. */
  readonly pipeline: string | undefined
  /** Only triggers of pipelines of these projects. */
  readonly projectIds?: readonly string[] | undefined
  readonly after: string | undefined
  readonly limit: number
}

/**
 * Returns the id of the pipeline of a list; undefined for all pipelines. Throws `not-found` for an unknown pipeline, and for one outside of the projects of the
 * list.
 */
export async function findListedPipeline(
  app: App,
  { pipeline, projectIds }: Pick<TriggerList, 'pipeline' | 'projectIds'>,
): Promise<string | undefined> {
  if (pipeline === undefined) return undefined
  const found = await findPipeline(app.store.query, app.accountId, pipeline)
  const isListed = projectIds === undefined || projectIds.includes(found?.project_id ?? '')
  return requireFound(isListed ? found : undefined, `pipeline "${pipeline}"`).id
}

interface Written {
  /** Name or id of the pipeline. */
  readonly pipeline: string
  readonly authorize: AuthorizePipeline | undefined
}

/** Locks the pipeline of a trigger that is about to be written. Throws what `authorize` throws, and `not-found`. */
export async function lockPipelineOf(
  app: App,
  tx: Tx,
  { pipeline: name, authorize }: Written,
  spec: Pick<GitTrigger, 'contexts' | 'runtimeEnvironment'>,
): Promise<PipelineRow> {
  const pipeline = await lockPipeline(tx, app.accountId, name)
  authorize?.({
    projectId: pipeline === undefined ? '' : pipeline.project_id,
    usesContexts: spec.contexts.length > 0,
    choosesRuntime: spec.runtimeEnvironment?.name !== undefined,
  })
  return requireFound(pipeline, `pipeline "${name}"`)
}

interface Stored {
  readonly id: string
  readonly name: string
  readonly origin: 'document' | 'api'
}

/** Returns the ids of stored triggers that came with an earlier document and are not in the new one. */
export function removedFromDocument(stored: readonly Stored[], triggers: readonly { readonly name: string }[]): string[] {
  const names = new Set(triggers.map(({ name }) => name))
  return stored.filter(({ origin, name }) => origin === 'document' && !names.has(name)).map(({ id }) => id)
}

/** Throws `request-invalid` for encrypted variables, which triggers do not store. */
export function refuseEncrypted(variables: readonly { readonly key: string; readonly encrypted?: boolean | undefined }[]): void {
  const encrypted = variables.find((one) => one.encrypted)
  if (encrypted === undefined) return
  throw fault('request-invalid', {
    message: `The variable "${encrypted.key}" of a trigger cannot be encrypted.`,
    hint: 'Put the value in a context of type secret, and name the context in `contexts` of the trigger.',
  })
}
