/** What the language knows of one step type: its fields, the rules between them, and the action that they make. */
import type { Action, JsonTemplate } from '@windlass/plan'
import type { Entries } from './fields.ts'
import type { Report } from './report.ts'
import type { Fields } from './shape.ts'
import type { Range } from './source.ts'

export interface RulePlace {
  readonly report: Report
  /** Of the step, such as `steps.test`. */
  readonly path: string
  /** Of the name of the step: where something that is missing is reported. */
  readonly range: Range
  readonly buildVersion: 'v1' | 'v2'
}

export interface ActionPlace {
  /** Stored compositions by name. */
  readonly compositions: Readonly<Record<string, JsonTemplate>>
  /** True when the document has a step of this name. */
  isStep(name: string): boolean
}

export interface StepType {
  readonly about: string
  readonly fields: Fields
  /** Unknown fields are let pass. */
  readonly open: boolean
  /** Reports what the table of fields cannot say: fields that exclude each other, forms of texts. */
  readonly rule?: (entries: Entries, place: RulePlace) => void
  /** The action of a step whose fields were checked. Absent for types that are more than one action. */
  readonly toAction?: (entries: Entries, place: ActionPlace) => Action
}
