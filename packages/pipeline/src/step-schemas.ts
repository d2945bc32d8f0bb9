/** What tools that know the published validator ask of it beside validation (pipeline language 8.7): made from the same tables. */
import { jsonSchema } from './json-schema.ts'
import type { JsonSchema } from './json-schema.ts'
import { COMMON, ROOT, STEP_TYPES } from './language.ts'
import type { Fields, Shape } from './shape.ts'

/** A JSON Schema (draft 2020-12) for one step of each type, by the name of the type. */
export function stepSchemas(): Readonly<Record<string, JsonSchema>> {
  const { $schema, $defs } = jsonSchema()
  return Object.fromEntries(
    Object.keys(STEP_TYPES).map((type) => [
      type,
      { $schema, title: `Step of type ${type}`, $ref: `#/$defs/${encodeURIComponent(type)}`, $defs },
    ]),
  )
}

/** A reference to a variable anywhere in a text: its name is the first group. */
export const VARIABLE_PATTERN = /\$\{\{(.+?)\}\}/
/** A text that is one reference and nothing else. */
export const EXACT_VARIABLE_PATTERN = /^\$\{\{((?:(?!\}\}).)+)\}\}$/

export interface FlagFields {
  readonly root: readonly string[]
  /** Of every step. */
  readonly common: readonly string[]
  /** Of the step types that have any, beside those of every step. */
  readonly types: Readonly<Record<string, readonly string[]>>
}

/** Paths of the fields that are booleans and may be a variable, as written (`no_cache`) or in camel case (`noCache`). */
export function flagFields(letters: 'snake' | 'camel' = 'snake'): FlagFields {
  const paths = (fields: Fields): string[] =>
    flagPaths(fields).map((path) =>
      letters === 'snake' ? path : path.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase()),
    )
  const types = Object.entries(STEP_TYPES).flatMap(([type, { fields }]) => {
    const own = paths(fields)
    return own.length === 0 ? [] : [[type, own] as const]
  })
  return { root: paths(ROOT), common: paths(COMMON), types: Object.fromEntries(types) }
}

/** Flags in lists and in mappings of free keys have no path. */
function flagPaths(fields: Fields): string[] {
  return Object.entries(fields).flatMap(([name, { shape }]) => [
    ...(isFlag(shape) ? [name] : []),
    ...flagPaths(fieldsOf(shape)).map((path) => `${name}.${path}`),
  ])
}

function isFlag(shape: Shape): boolean {
  if (shape.kind === 'either') return shape.of.some(isFlag)
  if (shape.kind === 'own') return isFlag(shape.as)
  return shape.kind === 'flag' || shape.kind === 'strict-flag'
}

function fieldsOf(shape: Shape): Fields {
  if (shape.kind === 'record') return shape.fields
  return shape.kind === 'either' ? Object.assign({}, ...shape.of.map(fieldsOf)) : {}
}
