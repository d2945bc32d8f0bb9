/** What Git and cron triggers have in common: both belong to a pipeline, come with its document or from a user, and have variables. */
import { fault } from '@windlass/kit'
import type { App } from '../app.ts'
import { requireFound } from '../builds/lifecycle/require-found.ts'
import { findPipeline } from '../store/account/pipelines.ts'

export interface TriggerList {
  /** Name or id; undefined for all pipelines. */
  readonly pipeline: string | undefined
  readonly after: string | undefined
  readonly limit: number
}

/** Splits `pipeline#name`. Returns undefined for an id. */
export function splitTriggerName(id: string): { readonly pipeline: string; readonly name: string } | undefined {
  const at = id.indexOf('#')
  return at < 0 ? undefined : { pipeline: id.slice(0, at), name: id.slice(at + 1) }
}

/** Returns the id of the pipeline of a list; undefined for all pipelines. Throws `not-found` for an unknown pipeline. */
export async function findListedPipeline(app: App, pipeline: string | undefined): Promise<string | undefined> {
  if (pipeline === undefined) return undefined
  return requireFound(await findPipeline(app.store.query, app.accountId, pipeline), `pipeline "${pipeline}"`).id
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
