/** Template values: truth, type names and comparison, with the rules of Go's text/template. */
import { FunctionProblem } from './template-error.ts'

/** Nil and missing keys are null; numbers without a fraction are integers. */
export type TemplateValue = null | boolean | number | string | readonly TemplateValue[] | TemplateMap
export type TemplateMap = ReadonlyMap<string, TemplateValue>

export function isList(value: TemplateValue): value is readonly TemplateValue[] {
  return Array.isArray(value)
}

export function isMap(value: TemplateValue): value is TemplateMap {
  return value instanceof Map
}

/** Converts plain JSON to a template value; anything that JSON does not have becomes null. */
export function toTemplateValue(value: unknown): TemplateValue {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : null
  if (Array.isArray(value)) return value.map(toTemplateValue)
  if (typeof value !== 'object') return null
  return new Map(Object.entries(value).map(([key, inner]) => [key, toTemplateValue(inner)]))
}

/** Returns false for false, 0, nil and empty values. */
export function isTrue(value: TemplateValue): boolean {
  if (isList(value)) return value.length > 0
  return isMap(value) ? value.size > 0 : Boolean(value)
}

/** Returns the name of the type as Go prints it. */
export function typeName(value: TemplateValue): string {
  if (value === null) return '<nil>'
  if (isList(value)) return '[]interface {}'
  if (isMap(value)) return 'map[string]interface {}'
  if (typeof value === 'number') return Number.isInteger(value) ? 'int' : 'float64'
  return typeof value === 'boolean' ? 'bool' : 'string'
}

/** Returns the keys in the order in which Go iterates over and prints them. */
export function sortedKeys(map: TemplateMap): string[] {
  return [...map.keys()].toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0))
}

/** Compares two values. Throws FunctionProblem for values that cannot be compared. */
export function equals(a: TemplateValue, b: TemplateValue): boolean {
  if (a === null || b === null) return a === b
  if (typeof a !== 'object' && typeof b !== 'object') {
    if (typeof a !== typeof b) throw new FunctionProblem('incompatible types for comparison')
    return a === b
  }
  const complex = typeof a === 'object' ? a : b
  throw new FunctionProblem(`non-comparable type ${typeName(complex)}`)
}

/** Returns true if `a` is less than `b`. Throws FunctionProblem unless both are numbers or both are strings. */
export function isLess(a: TemplateValue, b: TemplateValue): boolean {
  for (const value of [a, b]) {
    if (typeof value !== 'number' && typeof value !== 'string') throw new FunctionProblem('invalid type for comparison')
  }
  if (typeof a === 'number' && typeof b === 'number') return a < b
  if (typeof a === 'string' && typeof b === 'string') return a < b
  throw new FunctionProblem('incompatible types for comparison')
}
