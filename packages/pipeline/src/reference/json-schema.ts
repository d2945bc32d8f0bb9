/** Generates the JSON Schema of inline documents for editors, from the tables that validation uses. */
import { REFUSED_TYPES, STEP_TYPES } from '../actions/index.ts'
import { COMMON, ROOT } from '../language/language.ts'
import { shareParts, type JsonSchema } from './share-parts.ts'
import type { Fields, Shape } from '../language/shape.ts'
import { TYPED } from '../language/type-fields.ts'

const VARIABLE: JsonSchema = { type: 'string', pattern: '^\\$\\{\\{.+\\}\\}$' }

/** Returns a JSON Schema (draft 2020-12). It covers the tables; only `compile` checks the rules between fields. */
export function jsonSchema(): JsonSchema & { readonly $defs: Readonly<Record<string, JsonSchema>> } {
  const names = Object.keys(STEP_TYPES)
  const typedName = { type: 'string', minLength: 1, not: { enum: [...names, ...Object.keys(REFUSED_TYPES)] } }
  const schema = {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    title: 'Windlass pipeline',
    ...recordSchema(ROOT, { open: false }),
    properties: {
      ...properties(ROOT),
      version: { description: ROOT['version']?.about, enum: ['1.0', '1', 1] },
      steps: { description: ROOT['steps']?.about, type: 'object', additionalProperties: { $ref: '#/$defs/step' } },
    },
    $defs: {
      step: {
        type: 'object',
        properties: { type: { description: COMMON['type']?.about, anyOf: [{ enum: names }, typedName] } },
        allOf: [
          ...names.map((name) => ({ if: { not: typeIs(name) }, else: { $ref: `#/$defs/${name}` } })),
          { if: { not: { properties: { type: typedName }, required: ['type'] } }, else: { $ref: '#/$defs/typed' } },
        ],
      },
      ...Object.fromEntries(
        Object.entries(STEP_TYPES).map(([name, { about, fields, open }]) => [
          name,
          stepSchema(about, { ...COMMON, ...fields }, open),
        ]),
      ),
      typed: stepSchema(
        'A step whose type is defined elsewhere: `name:version` or `account/name:version`.',
        { ...COMMON, ...TYPED },
        true,
      ),
    },
  }
  return shareParts(schema, { flag: shapeSchema({ kind: 'flag' }), strictFlag: shapeSchema({ kind: 'strict-flag' }) })
}

const FLAG_WORDS = ['true', 'false', 'yes', 'no', 'on', 'off', '0', '1']
const NUMBER_TEXT = '^\\s*[+-]?(\\d+\\.?\\d*|\\.\\d+)([eE][+-]?\\d+)?\\s*$'

/** Returns a case-insensitive pattern of a word; JSON Schema patterns have no flags. */
function anyCase(word: string): string {
  return word.replace(/[a-z]/g, (letter) => `[${letter}${letter.toUpperCase()}]`)
}

function typeIs(name: string): JsonSchema {
  const named = { properties: { type: { const: name } }, required: ['type'] }
  return name === 'freestyle' ? { anyOf: [named, { not: { required: ['type'] } }] } : named
}

const ELSEWHERE = ['arguments', 'scale', 'matrix']

/** Returns the schema of a step. Required fields may also be inside `arguments`, `scale` and `matrix`. */
function stepSchema(about: string, fields: Fields, open: boolean): JsonSchema {
  const { required, ...rest } = recordSchema(fields, { open })
  return {
    description: about,
    ...rest,
    ...(required !== undefined && { anyOf: [{ required }, ...ELSEWHERE.map((name) => ({ required: [name] }))] }),
  }
}

function recordSchema(fields: Fields, { open }: { open: boolean }): { type: 'object'; required?: string[] } & JsonSchema {
  const required = Object.entries(fields).flatMap(([name, field]) => (field.required === true ? [name] : []))
  return {
    type: 'object',
    properties: properties(fields),
    ...(required.length > 0 && { required }),
    ...(!open && { additionalProperties: false }),
  }
}

function properties(fields: Fields): Record<string, JsonSchema> {
  const all: Record<string, JsonSchema> = {}
  for (const [name, { shape, about, aliases = [] }] of Object.entries(fields)) {
    all[name] = { description: about, ...shapeSchema(shape) }
    for (const alias of aliases) all[alias] = { description: `Older name of ${name}.`, deprecated: true, ...shapeSchema(shape) }
  }
  return all
}

function shapeSchema(shape: Shape): JsonSchema {
  switch (shape.kind) {
    case 'text':
      return { type: 'string', ...(shape.empty !== true && { pattern: '\\S' }) }
    case 'flag':
      return {
        anyOf: [
          { type: 'boolean' },
          { enum: [0, 1] },
          { type: 'string', pattern: `^(${FLAG_WORDS.map(anyCase).join('|')})$` },
          VARIABLE,
        ],
      }
    case 'strict-flag':
      return { anyOf: [{ type: 'boolean' }, VARIABLE] }
    case 'number':
      return {
        anyOf: [
          {
            type: shape.whole === true ? 'integer' : 'number',
            ...(shape.above !== undefined && { exclusiveMinimum: shape.above }),
            ...(shape.least !== undefined && { minimum: shape.least }),
            ...(shape.most !== undefined && { maximum: shape.most }),
          },
          { type: 'string', pattern: NUMBER_TEXT },
        ],
      }
    case 'plain':
      return { type: ['string', 'number', 'boolean', 'null'] }
    case 'word':
      return { enum: shape.words }
    case 'list':
      return { type: 'array', items: shapeSchema(shape.of), ...(shape.least !== undefined && { minItems: shape.least }) }
    case 'map':
      return {
        type: 'object',
        additionalProperties: shapeSchema(shape.of),
        ...(shape.least !== undefined && { minProperties: shape.least }),
        ...(shape.keys !== undefined && { propertyNames: { pattern: shape.keys.pattern.source } }),
      }
    case 'record':
      return recordSchema(shape.fields, { open: shape.open === true })
    case 'either':
      return { anyOf: shape.of.map(shapeSchema) }
    case 'step':
      return { $ref: '#/$defs/step' }
    case 'own':
      return shapeSchema(shape.as)
    case 'any':
      return {}
  }
}
