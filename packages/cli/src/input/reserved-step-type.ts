/** Names of step types that pipelines have without a manifest on the server. */
import { BUILT_IN_STEP_TYPES, isLanguageType } from '@windlass/pipeline'

/** Returns why a manifest with this name is not loaded, and what steps use instead, as sentences. Undefined if it can be loaded. */
export function reservedStepType(name: string): { readonly reason: string; readonly action: string } | undefined {
  if (isLanguageType(name))
    return { reason: `"${name}" is a type of the pipeline language.`, action: 'Steps use it without a manifest.' }
  if (BUILT_IN_STEP_TYPES.some((included) => included.name === name))
    return { reason: `"${name}" is included in Windlass.`, action: 'Steps use the included version.' }
  return undefined
}
