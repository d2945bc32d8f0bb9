/** Kind push-tag: adds tags to an image that is already in the registry. */
import { fillAws } from '../fields/registry.ts'
import type { Aws } from '../fields/registry.ts'
import type { StepFields } from '../fields/step-fields.ts'
import type { Filled, Template } from '../fields/template.ts'
import type { ActionKind } from './action-kind.ts'

export interface PushTagAction {
  readonly kind: 'push-tag'
  readonly imageName: Template
  readonly tags: readonly Template[]
  readonly registry?: Template
  readonly aws?: Aws
}

export type ResolvedPushTag = Filled<PushTagAction>

export const pushTag = {
  performedBy: 'engine',
  resolve,
  subject: ({ imageName, tags }, fill) => `${fill(imageName)}: ${tags.map(fill).join(', ')}`,
  images: () => [],
  refersTo: 'directory',
  usesServices: false,
  canOverride: false,
  fillsVolume: false,
} satisfies ActionKind<PushTagAction, ResolvedPushTag>

function resolve(action: PushTagAction, fields: StepFields): ResolvedPushTag {
  return {
    kind: 'push-tag',
    imageName: fields.required('image_name', action.imageName, 'image'),
    tags: action.tags.map((tag, index) => fields.required(`tags[${index}]`, tag)),
    ...fields.optional('registry', 'registry', action.registry),
    ...fillAws(action.aws, fields),
  }
}
