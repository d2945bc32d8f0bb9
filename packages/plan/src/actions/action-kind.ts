/** The definition of a kind of action. Each kind has a file in this folder and a line in `index.ts`. */
import type { StepFields } from '../fields/step-fields.ts'
import type { Template } from '../fields/template.ts'

/** An image that the containers of a step use. */
export interface ActionImage {
  readonly image: Template
  /** Registry integration for the pull. */
  readonly registryContext?: Template | undefined
  /** The engine pulls its images while earlier steps run; compose pulls those of a composition when the step starts. */
  readonly pulledBy: 'engine' | 'compose'
}

/** `A` is the action in the plan, `R` the action with its variables substituted. */
export interface ActionKind<A extends { readonly kind: string }, R extends { readonly kind: A['kind'] } = A> {
  /** What carries out the step: a runner in the engine (`engine/steps`), the decision of a user, or the steps inside it. */
  readonly performedBy: 'engine' | 'user' | 'children'
  /** Substitutes the variables of an action. Reports problems through `fields`. */
  readonly resolve: (action: A, fields: StepFields, step: string) => R
  /** Returns what the step works on, in a few words for previews. `fill` substitutes variables. May be empty. */
  readonly subject: (action: A, fill: (template: Template | undefined) => string) => string
  /** Returns the images of the user that the step runs. */
  readonly images: (action: A) => readonly ActionImage[]
  /** The value of `${{STEP}}` in a text: the image that the step made, or its working directory. */
  readonly refersTo: 'image' | 'directory'
  /** The step runs containers of the user, so it waits for the services of the build. Other steps wait only for services that they name. */
  readonly usesServices: boolean
  /** A debug run can open a shell in the container of the step instead of its commands: breakpoint `override`. */
  readonly canOverride: boolean
  /** The step fills the shared volume. It runs again in an attempt that starts with an empty volume. */
  readonly fillsVolume: boolean
  /** Returns `NAME=VALUE` entries, which the other fields of the step and its containers see. */
  readonly environment?: (action: A) => readonly Template[]
  /** Returns the variables that the step exports, as far as the plan shows them. */
  readonly exportedNames?: (action: A) => readonly string[]
}
