/**
 * Templates of step types: the language of Go's text/template with the functions that published step types use. Bounded in time, output and
 * depth whatever the template says, and free of side effects: there is no function that reads anything but its arguments.
 */
import { SourceText } from '../source.ts'
import type { Place } from '../source.ts'
import { openBudget } from './budget.ts'
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
  /** Plain JSON, the dot of the template. */
  readonly data: unknown
  readonly delimiters?: Delimiters
  readonly unknowns?: Unknowns
  /** Shared by the renderings of a document; one of its own when absent. */
  readonly budget?: Budget
}

export interface Rendered {
  readonly text: string
  /** Where in the template a branch or comparison rested on a text that is not known yet. */
  readonly guesses: readonly Place[]
}

const ALL_KNOWN: Unknowns = { isUnknown: () => false, isUnknownFlag: () => false }

/**
 * Renders `text`. Throws TemplateError, with the place in the template, for whatever is wrong, and nothing else.
 *
 * ```ts
 * renderTemplate('[[ range .names ]]hi [[ . ]] [[ end ]]', { data: { names: ['a', 'b'] }, delimiters: { left: '[[', right: ']]' } })
 * ```
 */
export function renderTemplate(
  text: string,
  { data, delimiters = DEFAULT_DELIMITERS, unknowns = ALL_KNOWN, budget = openBudget() }: Rendering,
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
