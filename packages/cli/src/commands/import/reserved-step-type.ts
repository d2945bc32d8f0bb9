import { BUILT_IN_STEP_TYPES, isLanguageType } from '@windlass/pipeline'

export interface Reserved {
  readonly reason: string
  /** What applies instead, as a sentence. */
  readonly action: string
}

/** Returns why a manifest of this name is not loaded into a server; undefined if it can be loaded. */
export function reservedStepType(name: string): Reserved | undefined {
  if (isLanguageType(name))
    return { reason: `"${name}" is a type of the pipeline language.`, action: 'Steps use it without a manifest.' }
  if (BUILT_IN_STEP_TYPES.some((one) => one.name === name))
    return { reason: `"${name}" is included in Windlass.`, action: 'Steps use the included version.' }
  return undefined
}
