/** What a pipeline or a trigger is about to use, for the check of rights. */
import { requireRight, type Actor } from '../identity/actor.ts'
import type { Place } from '../store/places.ts'

export interface PipelineUse {
  /** The project is empty if it or the pipeline does not exist. */
  readonly place: Place
  readonly usesContexts: boolean
  readonly choosesRuntime: boolean
}

/** Throws unless the caller may write a pipeline, or a trigger of it, that uses this. */
export type AuthorizePipeline = (use: PipelineUse) => void

/** Returns the check before a pipeline or a trigger is written: the caller needs the rights for the pipeline. */
export function requireWrite(actor: Actor): AuthorizePipeline {
  return ({ place, usesContexts, choosesRuntime }) => {
    requireRight(actor, 'change-pipelines', place)
    if (usesContexts) requireRight(actor, 'use-contexts', place)
    if (choosesRuntime) requireRight(actor, 'use-runtimes', place)
  }
}
