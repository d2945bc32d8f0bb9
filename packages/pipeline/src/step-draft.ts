/**
 * Steps before they are compiled: every step of the document with its type and place known, and those that the language makes of others (children
 * of a matrix, hooks) beside them. Drafting goes first, so that conditions and references can be checked against all names.
 */
import type { FlagTemplate, Hook, Position, Scope, TypedStep } from '@windlass/plan'
import type { AccountContext } from './context/account.ts'
import type { Entries } from './fields.ts'
import type { Report } from './report.ts'
import type { Range } from './source.ts'
import type { StepNames } from './step-names.ts'
import type { ActionPlace, StepType } from './step-type.ts'
import type { TypedContext } from './typed/typed-context.ts'
import type { TreeNode } from './tree.ts'

export interface Draft {
  /** In the plan. */
  readonly name: string
  /** As written: the last part of the name. */
  readonly key: string
  readonly range: Range
  /** In the document, such as `steps.group.steps.one`. */
  readonly path: string
  readonly report: Report
  /** Position of the step around it, for steps that stand in another document. */
  readonly position?: Position
  readonly type: string
  /** Fields of the type; undefined for groups that the language makes, and for types that do not exist. */
  readonly known: StepType | undefined
  readonly entries: Entries
  readonly parent?: Draft
  readonly after: readonly string[]
  readonly hook?: Hook
  /** The step that a hook belongs to, also of the steps inside the hook. */
  readonly hookOf?: Draft
  /** Short names of the steps beside it, inside a hook or a typed step. */
  readonly locals?: ReadonlyMap<string, Draft>
  readonly body: DraftBody
  /** What the step has where it says nothing. */
  readonly failFast: FlagTemplate
  /** Inside the group, in order; hooks of the step. */
  readonly children: Draft[]
  readonly hooks: Draft[]
  /** Grows through the document, parents before their children. */
  readonly order: number
}

/** How a draft becomes an action. */
export type DraftBody =
  | { readonly kind: 'step' }
  | {
      readonly kind: 'group'
      readonly mode: 'serial' | 'parallel'
      readonly made: 'parallel' | 'matrix' | 'hook' | 'typed'
      readonly typed?: TypedStep
    }
  /** Nothing can be made of it. What is wrong is reported, or its type is not known yet. */
  | { readonly kind: 'unknown' }
  /** Annotations and metadata; `image` is the build step whose image is meant where none is named. */
  | { readonly kind: 'annotate'; readonly ofBuild: boolean }

/** What is the same for all steps of a document. */
export interface Drafting extends ActionPlace {
  readonly account: AccountContext
  readonly names: StepNames
  readonly stages: ReadonlySet<string>
  /** `v1` has no `registry`, `tags` and `disable_push` on build steps. */
  readonly buildVersion: 'v1' | 'v2'
  readonly mode: 'serial' | 'parallel'
  /** What is known before a build starts; undefined where none is about to. */
  readonly variables: Scope | undefined
  /** The name of the root services. */
  readonly serviceNames: readonly string[]
  /** `spec.debug.steps`. */
  readonly breakpoints: ReadonlyMap<string, TreeNode>
  readonly typed: TypedContext
}

/** Where in the document steps are drafted. */
export interface DraftPlace {
  readonly drafting: Drafting
  readonly report: Report
  /** Of the mapping that holds the steps, such as `steps`. */
  readonly path: string
  /** Of their names; empty but inside hooks and typed steps. */
  readonly prefix: string
  readonly mode: 'serial' | 'parallel'
  readonly failFast: FlagTemplate
  readonly parent?: Draft | undefined
  readonly hookOf?: Draft | 'build' | undefined
  readonly locals?: Map<string, Draft> | undefined
  readonly position?: Position | undefined
  /** Names of the step types around, outermost first. */
  readonly inside?: readonly string[] | undefined
}
