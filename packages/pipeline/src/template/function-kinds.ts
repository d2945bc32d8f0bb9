/** Template functions and the conversion of their arguments. */
import { plain } from './print.ts'
import { FunctionProblem } from './template-error.ts'
import { isList, isMap, typeName } from './values.ts'
import type { TemplateMap, TemplateValue } from './values.ts'

export interface TemplateFunction {
  readonly least: number
  /** No limit if absent. */
  readonly most?: number
  readonly run: (args: readonly TemplateValue[]) => TemplateValue
}

/** Maximum length of a text or list that a function returns. */
export const MAX_RESULT = 1_048_576

/** Defines a function with a fixed number of arguments. */
export function fixed(count: number, run: (...args: TemplateValue[]) => TemplateValue): TemplateFunction {
  return { least: count, most: count, run: (args) => run(...args) }
}

/** Defines a function of texts; other values are converted to text. */
export function ofTexts(count: number, run: (...args: string[]) => TemplateValue): TemplateFunction {
  return fixed(count, (...args) => run(...args.map(textOf)))
}

export function textOf(value: TemplateValue): string {
  return value === null ? '' : plain(value)
}

export function listOf(value: TemplateValue): readonly TemplateValue[] {
  if (!isList(value)) throw new FunctionProblem(`expected a list; got ${typeName(value)}`)
  return value
}

export function mapOf(value: TemplateValue): TemplateMap {
  if (!isMap(value)) throw new FunctionProblem(`expected a map; got ${typeName(value)}`)
  return value
}

/** Converts a number, or a text that is a number. Throws FunctionProblem for other values. */
export function numberOf(value: TemplateValue): number {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value
  if (typeof number === 'boolean') return number ? 1 : 0
  if (typeof number !== 'number' || !Number.isFinite(number))
    throw new FunctionProblem(`expected a number; got ${typeName(value)}`)
  return number
}

export function wholeOf(value: TemplateValue): number {
  return Math.trunc(numberOf(value))
}

/** Throws FunctionProblem if a result of this length would be too long. */
export function checkLength(length: number): void {
  if (length > MAX_RESULT) throw new FunctionProblem('the result is too long')
}
