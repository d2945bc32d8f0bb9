/** The definition of a kind of action. Each kind has a file in this folder and a line in `index.ts`. */
import type { StepFields } from '../fields/step-fields.ts'
import type { Template } from '../fields/template.ts'

/** An image that the containers of a step use. */
export interface ActionImage {
  readonly image: Template
  /** Registry integration for the pull. */
  readonly registryContext?: Template | undefined
  /** `engine`: the engine pulls the image while earlier steps run. `compose`: Docker Compose pulls it when the step starts. */
  readonly pulledBy: 'engine' | 'compose'
}

/** The facts and functions of one kind. `A` is the action in the plan, `R` the action with its variables substituted. */
export interface ActionKind<A extends { readonly kind: string }, R extends { readonly kind: A['kind'] } = A> {
  /** Who carries out the step: a runner of the engine (`engine/steps`), a user who decides, or the steps inside it. */
  readonly performedBy: 'engine' | 'user' | 'children'
  /** Substitutes the variables of an action. `step` is the name of its step. Reports problems through `fields`. */
  readonly resolve: (action: A, fields: StepFields, step: string) => R
  /** Returns what the step works on, in a few words for previews. `fill` substitutes variables. May return an empty text. */
  readonly subject: (action: A, fill: (template: Template | undefined) => string) => string
  /** Returns the images that the user names and the step runs. Does not include the images that Windlass adds. */
  readonly images: (action: A) => readonly ActionImage[]
  /** The value of `${{STEP}}` in a text: the image that the step made, or its working directory. */
  readonly refersTo: 'image' | 'directory'
  /** True if the step runs containers of the user. It then waits for the services of the build; other steps wait only for those that they name. */
  readonly usesServices: boolean
  /** True if a debug run can open a shell in the container of the step instead of running its commands (breakpoint `override`). */
  readonly canOverride: boolean
  /** True if the step fills the shared volume. It then runs again in an attempt that starts with an empty volume. */
  readonly fillsVolume: boolean
  /** Returns the `NAME=VALUE` entries that the other fields of the step and its containers see. None if absent. */
  readonly environment?: (action: A) => readonly Template[]
  /** Returns the names of the variables that the step exports, as far as the plan shows them. None if absent. */
  readonly exportedNames?: (action: A) => readonly string[]
}
