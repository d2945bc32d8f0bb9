/** What a function of a template is, and how its arguments are read. */
import { plain } from './print.ts'
import { FunctionProblem } from './template-error.ts'
import { isList, isMap, typeName } from './values.ts'
import type { TemplateMap, TemplateValue } from './values.ts'

export interface TemplateFunction {
  readonly least: number
  /** No limit when absent. */
  readonly most?: number
  readonly run: (args: readonly TemplateValue[]) => TemplateValue
}

/** Longest text and list that a function gives. */
export const MAX_RESULT = 1_048_576

/** A function of fixed arguments. */
export function fixed(count: number, run: (...args: TemplateValue[]) => TemplateValue): TemplateFunction {
  return { least: count, most: count, run: (args) => run(...args) }
}

/** A function of texts; other values count as their text. */
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

/** A number, or a text that is one. */
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

/** Throws FunctionProblem before something of this length is made. */
export function checkLength(length: number): void {
  if (length > MAX_RESULT) throw new FunctionProblem('the result is too long')
}
