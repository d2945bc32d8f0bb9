/**
 * Drafts: all steps of a document before compilation, including generated ones (children of a matrix, hooks), with type and position. All steps
 * are drafted first, so that conditions and references can be checked against all names.
 */
import type { FlagTemplate, Hook, Position, TypedStep } from '@windlass/plan'
import type { Entries } from '../language/fields.ts'
import type { Report } from '../syntax/report.ts'
import type { Range } from '../syntax/source.ts'
import type { BuiltInStepType } from '../language/step-type.ts'

export interface Draft {
  /** Name in the plan. */
  readonly name: string
  /** Name as written: the last part of the name. */
  readonly key: string
  readonly range: Range
  /** Path in the document, such as `steps.group.steps.one`. */
  readonly path: string
  readonly report: Report
  /** Position of the step around it, for steps of another document. */
  readonly position?: Position
  readonly type: string
  /** The step type; undefined for generated groups and for unknown types. */
  readonly known: BuiltInStepType | undefined
  readonly entries: Entries
  readonly parent?: Draft
  readonly after: readonly string[]
  readonly hook?: Hook
  /** The step that a hook belongs to; also set on the steps inside the hook. */
  readonly hookOf?: Draft
  /** Short names of sibling steps inside a hook or a typed step. */
  readonly locals?: ReadonlyMap<string, Draft>
  readonly body: DraftBody
  /** Default of `fail_fast`. */
  readonly failFast: FlagTemplate
  /** Steps inside the group, in order. */
  readonly children: Draft[]
  /** Hooks of the step. */
  readonly hooks: Draft[]
  /** Increases through the document, parents before their children. */
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
  /** Cannot be compiled: a problem is reported, or the type is not known yet. */
  | { readonly kind: 'unknown' }
  /** Annotations and metadata. `ofBuild`: for the image of the build step itself. */
  | { readonly kind: 'annotate'; readonly ofBuild: boolean }
