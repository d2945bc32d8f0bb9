/** JSON Schema of inline documents, for editors; made from the same tables that validation reads. */
import { COMMON, ROOT, STEP_TYPES } from './language.ts'
import type { Fields, Shape } from './shape.ts'

export type JsonSchema = Readonly<Record<string, unknown>>

const VARIABLE: JsonSchema = { type: 'string', pattern: '^\\$\\{\\{.+\\}\\}$' }

/** A JSON Schema (draft 2020-12). It says what the tables say; rules between fields are told by `compile` alone. */
export function jsonSchema(): JsonSchema {
  const names = Object.keys(STEP_TYPES)
  return {
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
        properties: { ...properties(COMMON), type: { description: COMMON['type']?.about, enum: names } },
        allOf: names.map((name) => ({ if: { not: typeIs(name) }, else: { $ref: `#/$defs/${name}` } })),
      },
      ...Object.fromEntries(
        Object.entries(STEP_TYPES).map(([name, { about, fields, open }]) => [
          name,
          stepSchema(about, { ...fields, ...COMMON }, open),
        ]),
      ),
    },
  }
}

function typeIs(name: string): JsonSchema {
  const named = { properties: { type: { const: name } }, required: ['type'] }
  return name === 'freestyle' ? { anyOf: [named, { not: { required: ['type'] } }] } : named
}

/** Required fields may stand inside `arguments` too. */
function stepSchema(about: string, fields: Fields, open: boolean): JsonSchema {
  const { required, ...rest } = recordSchema(fields, { open })
  return { description: about, ...rest, ...(required !== undefined && { anyOf: [{ required }, { required: ['arguments'] }] }) }
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
  for (const [name, { shape, about, aliases = [], later }] of Object.entries(fields)) {
    if (later === 'error') continue
    all[name] = { description: about, ...shapeSchema(shape) }
    for (const alias of aliases)
      all[alias] = { description: `Older spelling of ${name}.`, deprecated: true, ...shapeSchema(shape) }
  }
  return all
}

function shapeSchema(shape: Shape): JsonSchema {
  switch (shape.kind) {
    case 'text':
      return { type: 'string', ...(shape.empty !== true && { minLength: 1 }) }
    case 'flag':
      return {
        anyOf: [
          { type: 'boolean' },
          { enum: [0, 1] },
          { type: 'string', pattern: '^([Tt]rue|[Ff]alse|[Yy]es|[Nn]o|[Oo]n|[Oo]ff|0|1)$' },
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
          { type: 'string', pattern: '^[0-9.]+$' },
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
