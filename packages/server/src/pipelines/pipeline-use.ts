/** What a pipeline or a trigger is about to use, for the check of rights. */
import { requireRight, type Actor } from '../identity/actor.ts'

export interface PipelineUse {
  /** Null for a pipeline without a project, empty for a project or a pipeline that does not exist. */
  readonly projectId: string | null
  readonly usesContexts: boolean
  readonly choosesRuntime: boolean
}

/** Throws unless the caller may write a pipeline, or a trigger of it, that uses this. */
export type AuthorizePipeline = (use: PipelineUse) => void

/** Returns the check before a pipeline or a trigger is written: the caller needs the rights in the project of the pipeline. */
export function requireWrite(actor: Actor): AuthorizePipeline {
  return ({ projectId, usesContexts, choosesRuntime }) => {
    requireRight(actor, 'change-pipelines', projectId)
    if (usesContexts) requireRight(actor, 'use-contexts', projectId)
    if (choosesRuntime) requireRight(actor, 'use-runtimes', projectId)
  }
}
