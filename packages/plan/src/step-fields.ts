/** Filling in the fields of one step, and gathering what is wrong with them. */
import type { Reason } from './lists.ts'
import type { FlagTemplate, Template } from './plan.ts'
import type { BuildScope, Purpose } from './scope.ts'
import { substitute } from './substitute.ts'

export interface StepProblem {
  /** As written in the document, such as `image` or `volumes[0]`. */
  readonly field: string
  readonly message: string
  readonly reason: Extract<Reason, 'invalid-step' | 'mount-invalid'>
}

export interface Notes {
  readonly problems: StepProblem[]
  readonly unresolved: Set<string>
}

/** Fills in fields and gathers what is wrong with them. */
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
    if (overflow) this.problem(field, `"${field}" is too long once its variables are filled in`)
    if (text.includes('\0')) this.problem(field, `"${field}" must not contain a NUL character`)
    return text
  }

  /** Like `text`, for a field that cannot do its work when a name in it is not defined, or when it is empty. */
  needed(field: string, template: Template, purpose: Purpose = 'text'): string {
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

  problem(field: string, message: string, reason: StepProblem['reason'] = 'invalid-step'): void {
    this.notes.problems.push({ field, message, reason })
  }
}

/** A boolean from the texts that the language takes for one (pipeline language 2.1), in any case; undefined for other texts. */
export function toFlag(text: string): boolean | undefined {
  const word = text.trim().toLowerCase()
  if (['true', 'yes', 'on', '1'].includes(word)) return true
  return ['false', 'no', 'off', '0'].includes(word) ? false : undefined
}

/** A value in a message, cut when it is long. */
export function quote(template: FlagTemplate): string {
  const text = String(template)
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}
