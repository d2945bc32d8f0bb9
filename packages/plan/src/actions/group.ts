/** Kind group: a step that consists of the steps inside it. */
import type { JsonTemplate } from '../fields/template.ts'
import type { ActionKind } from './action-kind.ts'

/** The steps of a `type: parallel`, a matrix, a scale, a hook of several steps or a typed step. In serial mode each child lists its predecessor in `after`. */
export interface GroupAction {
  readonly kind: 'group'
  readonly mode: 'serial' | 'parallel'
  readonly typed?: TypedStep
}

/** A typed step. Inside it `${{ARG}}` is an argument, and short names refer to its own parts: part `main` of `greet` is the step `greet.main`. */
export interface TypedStep {
  readonly type: string
  readonly version: string
  readonly arguments: Readonly<Record<string, JsonTemplate>>
  /** The outputs of the step; all if absent. A missing required output fails the step. */
  readonly returns?: { readonly names: readonly string[]; readonly required: readonly string[] }
}

export const group = {
  performedBy: 'children',
  resolve: (action) => action,
  subject: ({ typed }) => (typed === undefined ? '' : `${typed.type}:${typed.version}`),
  images: () => [],
  refersTo: 'directory',
  usesServices: false,
  canOverride: false,
  fillsVolume: false,
} satisfies ActionKind<GroupAction>
