/** What a pipeline or a trigger is about to use, for the check of rights. */
import type { App } from '../app.ts'
import { requireRight, type Actor } from '../identity/actor.ts'
import { requireRuntimeAccess } from '../runtimes/access.ts'
import type { Place } from '../store/places.ts'
import type { Query } from '../store/store.ts'

export interface PipelineUse {
  /** The project is empty if it or the pipeline does not exist. */
  readonly place: Place
  readonly usesContexts: boolean
  /** Names of the runtimes that it chooses for builds. */
  readonly runtimes: readonly string[]
  /** Names of the runtimes on which its builds run; undefined for the default one. */
  readonly runsOn: readonly (string | undefined)[]
}

/** Throws unless the caller may write a pipeline, or a trigger of it, that uses this. */
export type AuthorizePipeline = (use: PipelineUse, query: Query) => Promise<void>

/** Returns the check before a pipeline or a trigger is written: the caller needs the rights for the pipeline, and may use the runtimes on which builds then run. */
export function requireWrite(app: App, actor: Actor): AuthorizePipeline {
  return async ({ place, usesContexts, runtimes, runsOn }, query) => {
    requireRight(actor, 'change-pipelines', place)
    if (usesContexts) requireRight(actor, 'use-contexts', place)
    if (runtimes.length > 0) requireRight(actor, 'use-runtimes', place)
    for (const name of new Set(runsOn)) await requireRuntimeAccess(app, actor, name, query)
  }
}
