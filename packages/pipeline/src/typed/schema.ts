/** The JSON Schema (draft-07) of a step type's arguments: reads it, checks arguments and adds defaults. */
import { Validator } from '@cfworker/json-schema'
import type { OutputUnit, Schema } from '@cfworker/json-schema'
import { checkPattern, matchesPattern, PatternError } from '@windlass/plan'
import type { JsonTemplate } from '@windlass/plan'
import { didYouMean, nearestValue } from '../language/did-you-mean.ts'
import type { Report } from '../syntax/report.ts'
import { toValue } from '../syntax/tree.ts'
import type { MapNode } from '../syntax/tree.ts'

type Json = { readonly [key: string]: unknown }

export interface ArgumentSchema {
  readonly properties: Readonly<Record<string, unknown>>
  readonly required: readonly string[]
  /** The schema without patterns, which are matched separately in bounded time. */
  readonly schema: Schema
  readonly whole: Json
}

const MAX_SCHEMA_CHARS = 262_144
const MAX_SCHEMA_DEPTH = 40
/** Limits for checks: lists can cost the square of their length, and every part of a schema may be tried on every value. */
const MAX_ARGUMENT_NODES = 10_000
const MAX_CHECKS = 10_000_000
/** Limit of the length of a value and of the number of allowed values for which a similar value is suggested. */
const MAX_SUGGESTED = 100
/** Members of Codefresh schemas that have no effect. */
const IGNORED = new Set(['definitions', 'patterns', '$schema', '$id', 'examples', 'title', 'description', '$comment'])

/** Reads the schema under `key` of a manifest's spec; a missing one allows everything. Reports an invalid schema and returns undefined. */
export function readSchema(spec: MapNode, key: 'arguments' | 'returns', report: Report): ArgumentSchema | undefined {
  const node = spec.entries.get(key)?.value
  const wrong = (message: string, hint = ''): undefined => {
    report.error('step-schema', node?.range ?? spec.range, `"${key}" ${message}`, { path: `spec.${key}`, hint })
    return undefined
  }
  if (node === undefined || (node.kind === 'scalar' && (node.value === null || node.value === ''))) return toSchema({})
  let value = toValue(node)
  if (typeof value === 'string') {
    if (value.length > MAX_SCHEMA_CHARS) return wrong('is too large')
    try {
      value = JSON.parse(value)
    } catch (error) {
      return wrong(`must be JSON: ${error instanceof Error ? error.message.slice(0, 200) : 'it cannot be parsed'}`)
    }
  }
  if (!isObject(value)) return wrong('must be a JSON Schema object')
  const problem = problemOf(value, 0)
  return problem === undefined
    ? toSchema(value)
    : wrong(problem, 'Write a JSON Schema (draft-07) without references and unsupported patterns.')
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function problemOf(value: unknown, depth: number): string | undefined {
  if (depth > MAX_SCHEMA_DEPTH) return 'is nested too deeply'
  if (Array.isArray(value)) return firstOf(value, (inner) => problemOf(inner, depth + 1))
  if (!isObject(value)) return undefined
  if (typeof value['$ref'] === 'string') return 'must not use "$ref"'
  if (typeof value['pattern'] === 'string') {
    try {
      checkPattern(value['pattern'], '')
    } catch (error) {
      if (!(error instanceof PatternError)) throw error
      return `has an invalid pattern: ${error.message}`
    }
  }
  if ('type' in value && !isType(value['type']) && !isObject(value['type']))
    return `has an unknown type ${JSON.stringify(value['type'])}`
  return firstOf(Object.values(value), (inner) => problemOf(inner, depth + 1))
}

const TYPES = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string']

function isType(value: unknown): boolean {
  return Array.isArray(value) ? value.every(isType) : typeof value === 'string' && TYPES.includes(value)
}

function firstOf<T, R>(items: readonly T[], test: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = test(item)
    if (found !== undefined) return found
  }
  return undefined
}

function toSchema(value: Json): ArgumentSchema {
  const { properties, required } = value
  return {
    properties: isObject(properties) ? properties : {},
    required: Array.isArray(required) ? required.filter((name) => typeof name === 'string') : [],
    schema: withoutPatterns(value),
    whole: value,
  }
}

function withoutPatterns(value: Json): Schema {
  const strip = (inner: unknown, isSchema: boolean): unknown => {
    if (Array.isArray(inner)) return inner.map((item) => strip(item, isSchema))
    if (!isObject(inner)) return inner
    const entries = Object.entries(inner).flatMap(([key, member]): [string, unknown][] => {
      if (isSchema && (IGNORED.has(key) || key === 'patternProperties' || (key === 'pattern' && typeof member === 'string')))
        return []
      if (isSchema && (key === 'enum' || key === 'const' || key === 'default')) return [[key, member]]
      return [[key, strip(member, !(isSchema && (key === 'properties' || key === 'dependencies')))]]
    })
    return Object.fromEntries(entries)
  }
  const stripped = strip(value, true)
  return isObject(stripped) ? stripped : {}
}

/** Returns the arguments with defaults for missing ones. */
export function withDefaults(
  given: Readonly<Record<string, JsonTemplate>>,
  schema: ArgumentSchema,
): Record<string, JsonTemplate> {
  return fill(given, schema.whole)
}

function fill(given: Readonly<Record<string, JsonTemplate>>, schema: Json): Record<string, JsonTemplate> {
  const filled: Record<string, JsonTemplate> = { ...given }
  const properties = isObject(schema['properties']) ? schema['properties'] : {}
  for (const [name, property] of Object.entries(properties)) {
    if (!isObject(property)) continue
    const value = filled[name]
    if (value === undefined && property['default'] !== undefined) filled[name] = toJson(property['default'])
    else if (typeof value === 'object' && value !== null && !Array.isArray(value)) {
      filled[name] = fill(Object.fromEntries(Object.entries(value)), property)
    }
  }
  return filled
}

/** Converts plain data of a document to JSON; anything else becomes null. */
export function toJson(value: unknown): JsonTemplate {
  if (value === null || typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string') return value
  if (Array.isArray(value)) return value.map(toJson)
  return isObject(value) ? Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toJson(inner)])) : null
}

export interface ArgumentProblem {
  /** Argument names from the outside in; empty for the arguments as a whole. */
  readonly path: readonly string[]
  readonly message: string
}

/** Returns the problems of the arguments. A text that contains a reference passes, because its value is not known. Never throws. */
export function checkArguments(values: Readonly<Record<string, JsonTemplate>>, schema: ArgumentSchema): ArgumentProblem[] {
  const found: ArgumentProblem[] = []
  const size = countNodes(values)
  if (size > MAX_ARGUMENT_NODES || size * countNodes(schema.schema) > MAX_CHECKS)
    return [{ path: [], message: '"arguments" are too large to check' }]
  const result = new Validator({ ...schema.schema, type: 'object' }, '7', false).validate(values)
  for (const unit of result.errors) {
    const path = unit.instanceLocation.split('/').slice(1).map(decodePointer)
    const value = valueAt(values, path)
    if (holdsReference(value, isComposite(unit.keyword))) continue
    const message = describe(unit, path, value)
    if (message !== undefined) found.push({ path: message.path ?? path, message: message.text })
  }
  checkPatterns(values, schema.whole, [], found)
  const once = new Map(found.map((problem) => [`${problem.path.join('/')} ${problem.message}`, problem]))
  return [...once.values()]
}

function countNodes(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1
  return Object.values(value).reduce<number>((sum, inner) => sum + countNodes(inner), 1)
}

function decodePointer(part: string): string {
  try {
    return decodeURIComponent(part).replaceAll('~1', '/').replaceAll('~0', '~')
  } catch {
    return part
  }
}

function valueAt(values: unknown, path: readonly string[]): unknown {
  let at = values
  for (const part of path) at = Array.isArray(at) ? at[Number(part)] : isObject(at) ? at[part] : undefined
  return at
}

function isComposite(keyword: string): boolean {
  return ['anyOf', 'oneOf', 'allOf', 'not', 'if', 'then', 'else', 'enum', 'const', 'contains', 'uniqueItems'].includes(keyword)
}

function holdsReference(value: unknown, deep: boolean): boolean {
  if (typeof value === 'string') return value.includes('${{')
  if (!deep || typeof value !== 'object' || value === null) return false
  return Object.values(value).some((inner) => holdsReference(inner, true))
}

/** Returns the problem of a unit, or undefined for units that only repeat one inside them. */
function describe(
  unit: OutputUnit,
  path: readonly string[],
  value: unknown,
): { text: string; path?: readonly string[] } | undefined {
  const name = nameOf(path)
  const quoted = /"([^"]*)"/.exec(unit.error)?.[1] ?? ''
  switch (unit.keyword) {
    case 'properties':
    case 'items':
    case 'additionalItems':
    case 'false':
    case 'allOf':
    case 'if':
    case '$ref':
      return undefined
    case 'required':
      return { text: `"${/required property "([^"]*)"/.exec(unit.error)?.[1] ?? quoted}" is required` }
    case 'additionalProperties':
      return { text: `"${quoted}" is not allowed`, path: [...path, quoted] }
    case 'type':
      return {
        text: `"${name}" must be ${/Expected "([^"]*)"/.exec(unit.error)?.[1]?.replaceAll('", "', ' or ') ?? 'of another type'}${shown(value)}`,
      }
    case 'enum':
      return { text: `"${name}" must be one of ${choices(unit.error, value)}` }
    default:
      return { text: `"${name}" is invalid: ${unit.error.slice(0, 300)}` }
  }
}

/** Returns the name of an argument for messages. A value in a list has the name of the list with its index: `TAGS[1]`. */
function nameOf(path: readonly string[]): string {
  const last = path.at(-1) ?? 'arguments'
  const list = path.at(-2)
  return list !== undefined && /^\d+$/.test(last) ? `${list}[${last}]` : last
}

/** Returns the allowed values of an `enum`, the current one, and the nearest allowed one. */
function choices(error: string, value: unknown): string {
  const listed = /any of (\[[\s\S]*\])/.exec(error)?.[1]
  const allowed: unknown = listed === undefined ? undefined : JSON.parse(listed)
  if (!Array.isArray(allowed)) return `the allowed values${shown(value)}`
  const words = allowed.filter((one) => typeof one === 'string')
  const isShort = typeof value === 'string' && value.length <= MAX_SUGGESTED && words.length <= MAX_SUGGESTED
  const texts = allowed.map((one) => (typeof one === 'string' ? one : JSON.stringify(one)))
  return `[${texts.join(', ')}]${shown(value)}${didYouMean(isShort ? nearestValue(value, words) : undefined)}`
}

function shown(value: unknown): string {
  const isSimple = (typeof value === 'string' && value !== '') || typeof value === 'number' || typeof value === 'boolean'
  return isSimple ? `. Current value: ${String(value).slice(0, 60)}` : ''
}

/** Checks patterns of texts, following properties and items. */
function checkPatterns(value: unknown, schema: unknown, path: readonly string[], found: ArgumentProblem[]): void {
  if (!isObject(schema)) return
  const { pattern, properties, items } = schema
  if (typeof value === 'string' && typeof pattern === 'string' && !value.includes('${{') && !fits(pattern, value))
    found.push({ path, message: `"${nameOf(path)}" fails to match the pattern ${pattern}${shown(value)}` })
  if (Array.isArray(value))
    for (const [index, item] of value.entries()) checkPatterns(item, items, [...path, String(index)], found)
  else if (isObject(value) && isObject(properties))
    for (const [key, inner] of Object.entries(value)) checkPatterns(inner, properties[key], [...path, key], found)
}

function fits(pattern: string, text: string): boolean {
  try {
    return matchesPattern(pattern, '', text)
  } catch (error) {
    if (error instanceof PatternError) return false
    throw error
  }
}
