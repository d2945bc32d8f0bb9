/** Kind launch-composition: starts a composition that outlives the build. */
import { composeDirectory, composeImages, fillCompose } from '../fields/compose.ts'
import type { ComposeSource, ResolvedCompose } from '../fields/compose.ts'
import type { StepFields } from '../fields/step-fields.ts'
import type { Template } from '../fields/template.ts'
import type { ActionKind } from './action-kind.ts'

export interface LaunchCompositionAction {
  readonly kind: 'launch-composition'
  readonly compose: ComposeSource
  readonly variables: readonly Template[]
  readonly workingDirectory?: Template
  readonly registryContexts: readonly Template[]
  readonly environmentName?: Template
  readonly entryPoint?: Template
}

export interface ResolvedLaunch {
  readonly kind: 'launch-composition'
  readonly compose: ResolvedCompose
  readonly variables: readonly string[]
  readonly directory: string
  readonly registryContexts: readonly string[]
  readonly environmentName: string
  readonly entryPoint?: string
}

export const launchComposition = {
  performedBy: 'engine',
  resolve,
  subject: ({ environmentName }, fill) => fill(environmentName),
  images: ({ compose }) => composeImages(compose).map((image) => ({ image, pulledBy: 'compose' })),
  refersTo: 'directory',
  usesServices: true,
  canOverride: false,
  fillsVolume: false,
} satisfies ActionKind<LaunchCompositionAction, ResolvedLaunch>

function resolve(action: LaunchCompositionAction, fields: StepFields, step: string): ResolvedLaunch {
  const directory = composeDirectory(action.workingDirectory, fields)
  const defaultName = 'path' in action.compose ? fields.text('composition', action.compose.path) : step
  return {
    kind: 'launch-composition',
    compose: fillCompose('composition', action.compose, directory, fields),
    variables: fields.list('composition_variables', action.variables),
    directory,
    registryContexts: fields.list('registry_contexts', action.registryContexts),
    environmentName:
      action.environmentName === undefined ? defaultName : fields.required('environment_name', action.environmentName),
    ...fields.optional('entryPoint', 'entry_point', action.entryPoint),
  }
}
