/** The functions of templates: those of Go, and those of gomplate and sprig that Codefresh step types use. */
import { COLLECTION_FUNCTIONS } from './collection-functions.ts'
import { quote, sprint, sprintf } from './print.ts'
import { FunctionProblem } from './template-error.ts'
import { TEXT_FUNCTIONS } from './text-functions.ts'
import { equals, isLess, isList, isMap, isTrue, typeName } from './values.ts'
import type { TemplateValue } from './values.ts'
import type { TemplateFunction } from './function-kinds.ts'

const BUILTIN: Readonly<Record<string, TemplateFunction>> = {
  not: { least: 1, most: 1, run: ([value = null]) => !isTrue(value) },
  eq: {
    least: 2,
    run([first = null, ...others]) {
      return others.some((other) => equals(first, other))
    },
  },
  ne: { least: 2, most: 2, run: ([a = null, b = null]) => !equals(a, b) },
  lt: { least: 2, most: 2, run: ([a = null, b = null]) => isLess(a, b) },
  le: { least: 2, most: 2, run: ([a = null, b = null]) => isLess(a, b) || equals(a, b) },
  gt: { least: 2, most: 2, run: ([a = null, b = null]) => !isLess(a, b) && !equals(a, b) },
  ge: { least: 2, most: 2, run: ([a = null, b = null]) => !isLess(a, b) },
  len: { least: 1, most: 1, run: ([value = null]) => lengthOf(value) },
  index: {
    least: 1,
    run([value = null, ...keys]) {
      let at: TemplateValue = value
      for (const key of keys) at = indexed(at, key)
      return at
    },
  },
  print: { least: 0, run: (values) => sprint(values) },
  println: { least: 0, run: (values) => `${values.map((value) => sprint([value])).join(' ')}\n` },
  printf: {
    least: 1,
    run([format = null, ...values]) {
      if (typeof format !== 'string') throw new FunctionProblem(`wrong type for value; expected string; got ${typeName(format)}`)
      return sprintf(format, values)
    },
  },
  html: { least: 1, run: (values) => sprint(values).replace(/[<>&'"\0]/g, (char) => HTML[char] ?? char) },
  js: { least: 1, run: (values) => quote(sprint(values)).slice(1, -1).replaceAll("'", "\\'") },
  urlquery: { least: 1, run: (values) => toQuery(sprint(values)) },
}

const HTML: Readonly<Record<string, string>> = {
  '<': '&lt;',
  '>': '&gt;',
  '&': '&amp;',
  "'": '&#39;',
  '"': '&#34;',
  '\0': '\uFFFD',
}

function toQuery(text: string): string {
  return encodeURIComponent(text.toWellFormed())
    .replaceAll('%20', '+')
    .replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}

function lengthOf(value: TemplateValue): number {
  if (typeof value === 'string') return new TextEncoder().encode(value).length
  if (isList(value)) return value.length
  if (isMap(value)) return value.size
  throw new FunctionProblem(value === null ? 'len of untyped nil' : `len of type ${typeName(value)}`)
}

function indexed(value: TemplateValue, key: TemplateValue): TemplateValue {
  if (value === null) throw new FunctionProblem('index of untyped nil')
  if (isMap(value)) {
    if (typeof key !== 'string') throw new FunctionProblem(`value has type ${typeName(key)}; should be string`)
    return value.get(key) ?? null
  }
  if (!isList(value) && typeof value !== 'string') throw new FunctionProblem(`can't index item of type ${typeName(value)}`)
  if (typeof key !== 'number' || !Number.isInteger(key))
    throw new FunctionProblem(`cannot index slice/array with type ${typeName(key)}`)
  const item = isList(value) ? value[key] : new TextEncoder().encode(value)[key]
  if (item === undefined) throw new FunctionProblem(`index out of range: ${key}`)
  return item
}

const FUNCTIONS = new Map<string, TemplateFunction>(Object.entries({ ...TEXT_FUNCTIONS, ...COLLECTION_FUNCTIONS, ...BUILTIN }))

/** Prefixes of dotted names such as `strings.ToUpper`. */
export const NAMESPACES: ReadonlySet<string> = new Set(
  [...FUNCTIONS.keys()].flatMap((name) => (name.includes('.') ? [name.slice(0, name.indexOf('.'))] : [])),
)

/** Returns true for a function. `and` and `or` are not in the table, because they do not evaluate all their arguments. */
export function isFunction(name: string): boolean {
  return name === 'and' || name === 'or' || FUNCTIONS.has(name)
}

export function findFunction(name: string): TemplateFunction | undefined {
  return FUNCTIONS.get(name)
}
