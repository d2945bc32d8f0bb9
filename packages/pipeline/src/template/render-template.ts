/**
 * Renders templates of step types: the language of Go's text/template with the functions that Codefresh step types use. Time, output and depth
 * are limited for any template. There are no side effects, because functions only read their arguments.
 */
import { SourceText } from '../syntax/source.ts'
import type { Place } from '../syntax/source.ts'
import { createBudget } from './budget.ts'
import type { Budget } from './budget.ts'
import { evaluateTemplate } from './evaluate.ts'
import type { Unknowns } from './evaluate.ts'
import type { Delimiters } from './lexer.ts'
import { parseTemplate } from './parser.ts'
import { TemplateError, TemplateProblem } from './template-error.ts'
import { toTemplateValue } from './values.ts'

const MAX_TEMPLATE = 1_048_576
const DEFAULT_DELIMITERS: Delimiters = { left: '{{', right: '}}' }

export interface Rendering {
  /** The dot of the template, as plain JSON. */
  readonly data: unknown
  readonly delimiters?: Delimiters
  readonly unknowns?: Unknowns
  /** Shared by the renderings of a document; a new budget if absent. */
  readonly budget?: Budget
}

export interface Rendered {
  readonly text: string
  /** Positions in the template where a branch or comparison depended on an unknown text. */
  readonly guesses: readonly Place[]
}

const ALL_KNOWN: Unknowns = { isUnknown: () => false, isUnknownFlag: () => false }

/**
 * Renders `text`. Throws only TemplateError, with the position in the template.
 *
 * ```ts
 * renderTemplate('[[ range .names ]]hi [[ . ]] [[ end ]]', { data: { names: ['a', 'b'] }, delimiters: { left: '[[', right: ']]' } })
 * ```
 */
export function renderTemplate(
  text: string,
  { data, delimiters = DEFAULT_DELIMITERS, unknowns = ALL_KNOWN, budget = createBudget() }: Rendering,
): Rendered {
  const source = new SourceText(text, '')
  try {
    if (text.length > MAX_TEMPLATE) throw new TemplateProblem('the template is larger than 1 MiB', 0)
    if (delimiters.left === '' || delimiters.right === '') throw new TemplateProblem('delimiters must not be empty', 0)
    const done = evaluateTemplate(parseTemplate(text, delimiters), toTemplateValue(data), { unknowns, budget })
    return { text: done.text, guesses: done.guessedAt.map((offset) => source.placeOf(offset)) }
  } catch (error) {
    if (!(error instanceof TemplateProblem)) throw error
    throw new TemplateError(error.message, source.placeOf(error.offset))
  }
}
