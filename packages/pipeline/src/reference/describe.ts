/** Describes the language as plain data for the reference page, from the tables that validation uses. */
import { BUILTIN_VARIABLES, EXPRESSION_FUNCTIONS, STEP_RESULTS } from '@windlass/plan'
import { DIAGNOSTIC_CODES } from '../language/diagnostic.ts'
import { REFUSED_TYPES, STEP_TYPES } from '../actions/index.ts'
import { COMMON, ROOT } from '../language/language.ts'
import { METADATA, PIPELINE, SPEC } from '../language/pipeline-language.ts'
import type { Fields, Shape } from '../language/shape.ts'

export interface FieldDescription {
  readonly name: string
  /** Accepted values, such as `list of text`. */
  readonly type: string
  readonly about: string
  readonly required: boolean
  /** Other spellings. */
  readonly aliases: readonly string[]
  /** Fields inside it. */
  readonly fields: readonly FieldDescription[]
}

export interface LanguageDescription {
  readonly root: readonly FieldDescription[]
  readonly common: readonly FieldDescription[]
  readonly types: readonly {
    readonly name: string
    readonly about: string
    readonly open: boolean
    readonly fields: readonly FieldDescription[]
  }[]
  /** Types that are not supported, with what to use instead. */
  readonly refusedTypes: Readonly<Record<string, string>>
  readonly pipeline: readonly FieldDescription[]
  readonly metadata: readonly FieldDescription[]
  readonly spec: readonly FieldDescription[]
  readonly stepResults: readonly string[]
  readonly functions: readonly { readonly name: string; readonly parameters: readonly string[]; readonly about: string }[]
  readonly variables: readonly { readonly name: string; readonly about: string }[]
  readonly codes: readonly { readonly code: string; readonly about: string }[]
}

/** Returns the content of the reference page of the language. */
export function describeLanguage(): LanguageDescription {
  return {
    root: describeFields(ROOT),
    common: describeFields(COMMON),
    types: Object.entries(STEP_TYPES).map(([name, { about, open, fields }]) => ({
      name,
      about,
      open,
      fields: describeFields(fields),
    })),
    refusedTypes: REFUSED_TYPES,
    pipeline: describeFields(PIPELINE),
    metadata: describeFields(METADATA),
    spec: describeFields(SPEC),
    stepResults: STEP_RESULTS,
    functions: Object.entries(EXPRESSION_FUNCTIONS).map(([name, { parameters, optional = 0, about }]) => ({
      name,
      // Parameters that may be absent end with a question mark.
      parameters: parameters.map((type, at) => (at < parameters.length - optional ? type : `${type}?`)),
      about,
    })),
    variables: Object.entries(BUILTIN_VARIABLES).map(([name, about]) => ({ name, about })),
    codes: Object.entries(DIAGNOSTIC_CODES).map(([code, about]) => ({ code, about })),
  }
}

function describeFields(fields: Fields): FieldDescription[] {
  return Object.entries(fields).map(([name, { shape, about, required = false, aliases = [] }]) => ({
    name,
    type: shapeText(shape),
    about,
    required,
    aliases,
    fields: describeFields(fieldsIn(shape)),
  }))
}

function fieldsIn(shape: Shape): Fields {
  switch (shape.kind) {
    case 'record':
      return shape.fields
    case 'list':
    case 'map':
      return fieldsIn(shape.of)
    case 'either':
      return Object.assign({}, ...shape.of.map(fieldsIn))
    case 'own':
      return fieldsIn(shape.as)
    default:
      return {}
  }
}

/** Describes the accepted values of a shape, such as `list of text`. */
export function shapeText(shape: Shape): string {
  switch (shape.kind) {
    case 'text':
      return 'text'
    case 'flag':
    case 'strict-flag':
      return 'boolean or variable'
    case 'number':
      return shape.whole === true ? 'whole number' : 'number'
    case 'plain':
      return 'text, number or boolean'
    case 'word':
      return shape.words.map((one) => `\`${one}\``).join(' or ')
    case 'list':
      return shape.of.kind === 'any' ? 'list' : `list of ${shapeText(shape.of)}`
    case 'map':
      return shape.of.kind === 'any' ? 'object' : `object of ${shapeText(shape.of)}`
    case 'record':
      return 'object'
    case 'either':
      return [...new Set(shape.of.map(shapeText))].join(', or ')
    case 'step':
      return 'step'
    case 'own':
      return shapeText(shape.as)
    case 'any':
      return 'any'
  }
}
