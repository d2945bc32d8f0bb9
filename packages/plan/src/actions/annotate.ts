/** Kind annotate: writes annotations and image metadata. The compiler generates it from hooks and build steps. */
import type { StepFields } from '../fields/step-fields.ts'
import type { Template } from '../fields/template.ts'
import type { ActionKind } from './action-kind.ts'

/** Writes annotations and image metadata; needs no container unless a value is a file. */
export interface AnnotateAction {
  readonly kind: 'annotate'
  readonly set: readonly AnnotationChange[]
  readonly unset: readonly { readonly entity: AnnotatedEntity; readonly id?: Template; readonly names: readonly string[] }[]
  /** Image reference -> metadata. Default image: the one of the build step that this belongs to. */
  readonly metadata: readonly { readonly image?: Template; readonly entries: readonly AnnotationEntry[] }[]
}

export const ANNOTATED_ENTITIES = ['build', 'pipeline', 'project', 'image'] as const
export type AnnotatedEntity = (typeof ANNOTATED_ENTITIES)[number]

export interface AnnotationChange {
  readonly entity: AnnotatedEntity
  /** Name or id. Default: the running build, its pipeline or project, or the image of the step. */
  readonly id?: Template
  readonly entries: readonly AnnotationEntry[]
  /** The annotation that build lists show. */
  readonly display?: string
}

export interface AnnotationEntry {
  readonly name: string
  readonly value: { readonly is: Template | number | boolean } | { readonly evaluate: Template }
}

export const annotate = {
  performedBy: 'engine',
  resolve,
  subject: () => '',
  images: () => [],
  refersTo: 'directory',
  usesServices: false,
  canOverride: false,
  fillsVolume: false,
} satisfies ActionKind<AnnotateAction>

/** Substitutes references. Expressions keep theirs, where references are operands. */
function resolve(action: AnnotateAction, fields: StepFields): AnnotateAction {
  return {
    kind: 'annotate',
    set: action.set.map((change, index) => ({
      ...change,
      ...fields.optional('id', `annotations.set[${index}].entity_id`, change.id),
      entries: fillEntries(change.entries, fields),
    })),
    unset: action.unset.map((unset) => ({ ...unset, ...fields.optional('id', 'annotations.unset.entity_id', unset.id) })),
    metadata: action.metadata.map(({ image, entries }) => ({
      ...(image !== undefined && { image: fields.required('metadata.set', image, 'image') }),
      entries: fillEntries(entries, fields),
    })),
  }
}

function fillEntries(entries: readonly AnnotationEntry[], fields: StepFields): AnnotationEntry[] {
  return entries.map(({ name, value }) => ({
    name,
    value: 'is' in value && typeof value.is === 'string' ? { is: fields.text(name, value.is) } : value,
  }))
}
