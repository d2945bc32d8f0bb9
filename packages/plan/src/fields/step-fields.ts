/** Substitutes the variables in the fields of one step and collects the problems. */
import type { Reason } from '../lists.ts'
import type { BuildScope, Purpose } from '../expression/build-scope.ts'
import { exactReference, substitute } from '../expression/substitute.ts'
import type { FlagTemplate, Template } from './template.ts'

export interface StepProblem {
  /** Field as written in the document, such as `image` or `volumes[0]`. */
  readonly field: string
  readonly message: string
  readonly reason: Extract<Reason, 'invalid-step' | 'mount-invalid'>
}

export interface Notes {
  readonly problems: StepProblem[]
  readonly unresolved: Set<string>
}

export class StepFields {
  readonly scope: BuildScope
  readonly notes: Notes

  constructor(scope: BuildScope, notes: Notes) {
    this.scope = scope
    this.notes = notes
  }

  text(field: string, template: Template, purpose: Purpose = 'text'): string {
    const { text, unresolved, overflow } = substitute(template, this.scope.as(purpose))
    for (const name of unresolved) this.notes.unresolved.add(name)
    if (overflow) this.problem(field, `"${field}" is too long after variable substitution`)
    if (text.includes('\0')) this.problem(field, `"${field}" must not contain a NUL character`)
    return text
  }

  /** Like `text`, but reports a problem if a name in the field is undefined or the result is empty. */
  required(field: string, template: Template, purpose: Purpose = 'text'): string {
    const { unresolved } = substitute(template, this.scope.as(purpose))
    const text = this.text(field, template, purpose)
    const [missing] = unresolved
    if (missing !== undefined) this.problem(field, `"${field}" refers to "${missing}", which has no value`)
    else if (text.trim() === '') this.problem(field, `"${field}" is not allowed to be empty`)
    return text
  }

  optional<K extends string>(key: K, field: string, template: Template | undefined): { readonly [P in K]?: string } {
    const filled: { [P in K]?: string } = {}
    if (template !== undefined) filled[key] = this.text(field, template)
    return filled
  }

  list(field: string, templates: readonly Template[]): string[] {
    return templates.map((template, index) => this.text(`${field}[${index}]`, template))
  }

  flag(field: string, template: FlagTemplate): boolean {
    const value = typeof template === 'boolean' ? template : toFlag(this.text(field, template))
    if (value === undefined) this.problem(field, `"${field}" must be a boolean. Current value: ${quote(template)}`)
    return value ?? true
  }

  /** Returns the step of an image field that consists of one reference: `${{build}}`, `${{steps.build.imageId}}`. */
  stepIn(template: Template): string | undefined {
    const name = exactReference(template)?.trim()
    const step = name?.startsWith('steps.') === true ? name.slice('steps.'.length).split('.')[0] : name?.split('.')[0]
    return step === undefined ? undefined : this.scope.findStep(step)
  }

  problem(field: string, message: string, reason: StepProblem['reason'] = 'invalid-step'): void {
    this.notes.problems.push({ field, message, reason })
  }
}

/** Parses a boolean, case-insensitive: true/yes/on/1 or false/no/off/0. Returns undefined for other texts. */
export function toFlag(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  if (['true', 'yes', 'on', '1'].includes(word)) return true
  return ['false', 'no', 'off', '0'].includes(word) ? false : undefined
}

/** Shortens a value for a message. */
export function quote(template: FlagTemplate): string {
  const text = String(template)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
