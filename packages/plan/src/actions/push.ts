/** Kind push: pushes an image to a registry. */
import { fillAws, fillCredentials, fillTags } from '../fields/registry.ts'
import type { Aws, Credentials } from '../fields/registry.ts'
import type { StepFields } from '../fields/step-fields.ts'
import type { Filled, Template } from '../fields/template.ts'
import type { ActionKind } from './action-kind.ts'

export interface PushAction {
  readonly kind: 'push'
  readonly candidate: Template
  readonly registry?: Template
  readonly imageName?: Template
  readonly tags: readonly Template[]
  readonly registryContext?: Template
  readonly credentials?: Credentials
  readonly aws?: Aws
}

export type ResolvedPush = Filled<PushAction> & {
  /** The step that built the candidate, if `candidate` refers to one. */
  readonly candidateStep?: string
}

export const push = {
  performedBy: 'engine',
  resolve,
  subject: ({ candidate, registry }, fill) => `${fill(candidate)} ${registry === undefined ? '' : `to ${fill(registry)}`}`.trim(),
  images: () => [],
  refersTo: 'image',
  usesServices: false,
  canOverride: false,
  fillsVolume: false,
} satisfies ActionKind<PushAction, ResolvedPush>

function resolve(action: PushAction, fields: StepFields): ResolvedPush {
  const candidateStep = fields.stepIn(action.candidate)
  return {
    kind: 'push',
    candidate: fields.required('candidate', action.candidate, 'image'),
    ...(candidateStep !== undefined && { candidateStep }),
    ...fields.optional('registry', 'registry', action.registry),
    ...fields.optional('imageName', 'image_name', action.imageName),
    tags: fillTags(action.tags, fields),
    ...fields.optional('registryContext', 'registry_context', action.registryContext),
    ...fillCredentials(action.credentials, fields),
    ...fillAws(action.aws, fields),
  }
}
