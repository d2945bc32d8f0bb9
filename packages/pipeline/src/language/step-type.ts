/** The definition of a step type: its fields, its rules, and its action. */
import type { Action, JsonTemplate } from '@windlass/plan'
import type { AccountContext } from '../context/account.ts'
import type { Entries } from './fields.ts'
import type { Report } from '../syntax/report.ts'
import type { Fields } from './shape.ts'
import type { Range } from '../syntax/source.ts'
import type { Entry } from '../syntax/tree.ts'

export interface RulePlace {
  readonly report: Report
  /** Path of the step, such as `steps.test`. */
  readonly path: string
  /** Range of the step name, where missing fields are reported. */
  readonly range: Range
  readonly buildVersion: 'v1' | 'v2'
}

export interface ContextPlace extends RulePlace {
  readonly account: AccountContext
  /** True if the step has a condition or runs only after one kind of end: what it lacks is a warning instead of an error. */
  readonly mayNotRun: boolean
}

export interface ActionPlace {
  /** Stored compositions by name. */
  readonly compositions: Readonly<Record<string, JsonTemplate>>
  /** Returns true if the document has a step of this name. */
  isStep(name: string): boolean
}

export interface BuiltInStepType<A extends Action = Action> {
  readonly about: string
  readonly fields: Fields
  /** Accepts unknown fields. */
  readonly open: boolean
  /** Checks rules that the field table cannot express: exclusive fields, forms of texts. */
  readonly rule?: (entries: Entries, place: RulePlace) => void
  /** Reports the integrations that a step names or needs and the account lacks. Undefined for types that need none. */
  readonly checkContext: ((entries: Entries, place: ContextPlace) => void) | undefined
  /** Returns the action of a checked step. Undefined for types that are not a single action. */
  readonly toAction: ((entries: Entries, place: ActionPlace) => A) | undefined
  /** Converts forms that only the parts of Codefresh step type manifests use. */
  readonly fromManifest?: (entries: Map<string, Entry>) => void
}
