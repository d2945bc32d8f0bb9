/** Kind composition: runs a composition until its candidates have exited. */
import { composeDirectory, composeImages, fillCompose, fillDocument, imageOfService } from '../fields/compose.ts'
import type { ComposeSource, ResolvedCompose } from '../fields/compose.ts'
import type { StepFields } from '../fields/step-fields.ts'
import type { FlagTemplate, JsonTemplate, Template } from '../fields/template.ts'
import type { ActionKind } from './action-kind.ts'

export interface CompositionAction {
  readonly kind: 'composition'
  readonly compose: ComposeSource
  /** Name -> compose service; merged over a service of the same name. */
  readonly candidates: Readonly<Record<string, JsonTemplate>>
  readonly variables: readonly Template[]
  readonly workingDirectory?: Template
  readonly registryContexts: readonly Template[]
  /** Mounts the shared volume in every service. */
  readonly addVolume: FlagTemplate
}

export interface ResolvedComposition {
  readonly kind: 'composition'
  readonly compose: ResolvedCompose
  readonly candidates: Readonly<Record<string, JsonTemplate>>
  readonly variables: readonly string[]
  readonly directory: string
  readonly registryContexts: readonly string[]
  readonly addVolume: boolean
}

export const composition = {
  performedBy: 'engine',
  resolve,
  subject: ({ candidates }) => `${Object.keys(candidates).length} candidates`,
  images: ({ compose, candidates }) =>
    [...composeImages(compose), ...Object.values(candidates).flatMap(imageOfService)].map((image) => ({
      image,
      pulledBy: 'compose',
    })),
  refersTo: 'directory',
  usesServices: true,
  canOverride: false,
  fillsVolume: false,
} satisfies ActionKind<CompositionAction, ResolvedComposition>

function resolve(action: CompositionAction, fields: StepFields): ResolvedComposition {
  const directory = composeDirectory(action.workingDirectory, fields)
  return {
    kind: 'composition',
    compose: fillCompose('composition', action.compose, directory, fields),
    candidates: Object.fromEntries(
      Object.entries(action.candidates).map(([name, value]) => [
        name,
        fillDocument(`composition_candidates.${name}`, value, fields),
      ]),
    ),
    variables: fields.list('composition_variables', action.variables),
    directory,
    registryContexts: fields.list('registry_contexts', action.registryContexts),
    addVolume: fields.flag('add_flow_volume_to_composition', action.addVolume),
  }
}
