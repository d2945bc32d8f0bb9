/** Values as templates see them: truth, names of their types, comparison. The rules are those of Go's text/template. */
import { FunctionProblem } from './template-error.ts'

/** Nothing and a missing key are both null; numbers are integers when they have no fraction. */
export type TemplateValue = null | boolean | number | string | readonly TemplateValue[] | TemplateMap
export type TemplateMap = ReadonlyMap<string, TemplateValue>

export function isList(value: TemplateValue): value is readonly TemplateValue[] {
  return Array.isArray(value)
}

export function isMap(value: TemplateValue): value is TemplateMap {
  return value instanceof Map
}

/** Plain JSON as a template value; anything that JSON does not have is null. */
export function toTemplateValue(value: unknown): TemplateValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (Array.isArray(value)) return value.map(toTemplateValue)
  if (typeof value !== 'object') return null
  return new Map(Object.entries(value).map(([key, inner]) => [key, toTemplateValue(inner)]))
}

/** False for false, 0, nothing, and what is empty. */
export function isTrue(value: TemplateValue): boolean {
  if (isList(value)) return value.length > 0
  return isMap(value) ? value.size > 0 : Boolean(value)
}

/** Name of the type as Go prints it. */
export function typeName(value: TemplateValue): string {
  if (value === null) return '<nil>'
  if (isList(value)) return '[]interface {}'
  if (isMap(value)) return 'map[string]interface {}'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float64'
  return typeof value === 'boolean' ? 'bool' : 'string'
}

/** Keys in the order in which Go ranges over and prints them. */
export function sortedKeys(map: TemplateMap): string[] {
  return [...map.keys()].toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
}

/** Throws FunctionProblem for values that cannot be compared. */
export function equals(a: TemplateValue, b: TemplateValue): boolean {
  if (a === null || b === null) return a === b
  if (typeof a !== 'object' && typeof b !== 'object') {
    if (typeof a !== typeof b) throw new FunctionProblem('incompatible types for comparison')
    return a === b
  }
  const complex = typeof a === 'object' ? a : b
  throw new FunctionProblem(`non-comparable type ${typeName(complex)}`)
}

/** Whether `a` is less than `b`. Throws FunctionProblem unless both are numbers or both texts. */
export function isLess(a: TemplateValue, b: TemplateValue): boolean {
  for (const value of [a, b]) {
    if (typeof value !== 'number' && typeof value !== 'string') throw new FunctionProblem('invalid type for comparison')
  }
  if (typeof a === 'number' && typeof b === 'number') return a < b
  if (typeof a === 'string' && typeof b === 'string') return a < b
  throw new FunctionProblem('incompatible types for comparison')
}
