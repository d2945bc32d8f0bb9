/** What Git, cron and event triggers have in common: they belong to a pipeline, come with its document or from a user, and have variables. */
import { fault } from '@windlass/kit'
import type { GitTrigger } from '@windlass/protocol'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import type { AuthorizePipeline } from '../pipelines/pipeline-use.ts'
import { findPipeline, lockPipeline } from '../store/pipelines/pipelines.ts'
import { isWithin, type Places } from '../store/places.ts'
import type { PipelineRow } from '../store/schema/schema.ts'
import type { Tx } from '../store/store.ts'

export interface TriggerList {
  /** Name or id; undefined for all pipelines. */
  readonly pipeline: string | undefined
  /** Only triggers of pipelines of these places. */
  readonly places?: Places | undefined
  readonly after: string | undefined
  readonly limit: number
}

/**
 * Returns the id of the pipeline of a list; undefined for all pipelines. Throws `not-found` for an unknown pipeline, and for one outside of the places of the
 * list.
 */
export async function findListedPipeline(
  app: App,
  { pipeline, places }: Pick<TriggerList, 'pipeline' | 'places'>,
): Promise<string | undefined> {
  if (pipeline === undefined) return undefined
  const found = await findPipeline(app.store.query, app.accountId, pipeline)
  const isListed = found !== undefined && isWithin(places, { project: found.project_id, pipeline: found.id })
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
  const place = { project: pipeline === undefined ? '' : pipeline.project_id, pipeline: pipeline?.id ?? null }
  const { name: runtime } = spec.runtimeEnvironment ?? {}
  const runtimes = runtime === undefined ? [] : [runtime]
  const runsOn = pipeline === undefined ? runtimes : [runtime ?? pipeline.runtime ?? undefined]
  await authorize?.({ place, usesContexts: spec.contexts.length > 0, runtimes, runsOn }, tx.query)
  return requireFound(pipeline, `pipeline "${name}"`)
}

interface Stored {
  readonly id: string
  readonly name: string
  readonly origin: 'document' | 'api'
}

/** What a kind of trigger is called in messages. */
export interface TriggerKind {
  /** With its article. */
  readonly one: string
  readonly many: string
  /** Field of the document that contains triggers of this kind. */
  readonly field: string
}

/** Maximum number of triggers of one kind and pipeline. */
const MAX_TRIGGERS = 100

interface NewName {
  readonly pipeline: Pick<PipelineRow, 'name'>
  readonly name: string
  /** The stored triggers of the kind. */
  readonly others: readonly Stored[]
}

/** Throws `conflict` if the pipeline has another trigger of this name, and `request-invalid` for a new one if it has too many. */
export function requireNewName(
  { one, many }: TriggerKind,
  { pipeline, name, others }: NewName,
  before?: Pick<Stored, 'id'>,
): void {
  if (others.some((other) => other.name === name && other.id !== before?.id))
    throw fault('conflict', {
      message: `The pipeline "${pipeline.name}" already has ${one} "${name}".`,
      hint: 'Use another name, or replace the existing one.',
    })
  if (before === undefined && others.length >= MAX_TRIGGERS)
    throw fault('request-invalid', {
      message: `The pipeline "${pipeline.name}" already has ${MAX_TRIGGERS} ${many}.`,
      hint: 'Delete one, or combine several into one.',
    })
}

/** Throws `conflict` for a trigger that came with the document of its pipeline. */
export function requireOwn<T extends Stored & { readonly pipeline: string }>({ field }: TriggerKind, row: T): T {
  if (row.origin === 'document')
    throw fault('conflict', {
      message: `The trigger "${row.name}" is part of the document of the pipeline "${row.pipeline}".`,
      hint: `Change \`${field}\` of the document, and apply it.`,
    })
  return row
}

/** Throws `request-invalid` if the pipeline is not that of the trigger. */
export function requireSamePipeline(
  before: { readonly pipeline_id: string; readonly pipeline: string },
  pipeline: Pick<PipelineRow, 'id'>,
): void {
  if (pipeline.id === before.pipeline_id) return
  throw fault('request-invalid', {
    message: `The trigger belongs to the pipeline "${before.pipeline}".`,
    hint: 'Create a new trigger for the other pipeline.',
  })
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
