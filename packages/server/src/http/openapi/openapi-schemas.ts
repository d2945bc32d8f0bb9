/** JSON Schemas of the API. A schema that `@windlass/protocol` exports is written once, under its name, and referred to. */
import { defined } from '@windlass/kit/defined'
import * as protocol from '@windlass/protocol'
import { z } from 'zod'

export type Json = Record<string, unknown>
/** A schema as callers write it, or as the server does: fields with defaults are optional for callers alone. */
export type Direction = 'input' | 'output'

export interface Schemas {
  /** Returns the schema, or a reference to it. */
  toSchema(schema: z.ZodType, direction: Direction): Json
  /** Returns the schema with its properties, even if it has a name. */
  toInlineSchema(schema: z.ZodType, direction: Direction): Json
  /** The named schemas that were referred to so far, by name. */
  named(): Json
}

const EXPORTED = new Map(
  Object.entries(protocol).flatMap(([id, schema]) => (schema instanceof z.ZodType ? [[id, schema] as const] : [])),
)
const NAMES = z.registry<{ id: string }>()
for (const [id, schema] of EXPORTED) NAMES.add(schema, { id })

export function openSchemas(): Schemas {
  const named = new Map<string, unknown>()
  const addNamed = (parts: Json, direction: Direction): void => {
    for (const [id, part] of Object.entries(parts)) named.set(nameOf(id, direction), refer(part, direction))
  }
  return {
    toSchema(schema, direction) {
      const { $defs, ...json } = convert(schema, direction, NAMES)
      addNamed(asRecord($defs), direction)
      return asRecord(refer(json, direction))
    },
    toInlineSchema(schema, direction) {
      const { $defs, ...json } = convert(schema, direction, NAMES)
      const { [referredId(json) ?? '']: root = json, ...parts } = asRecord($defs)
      addNamed(parts, direction)
      return asRecord(refer(root, direction))
    },
    named: () => Object.fromEntries([...named].toSorted(([a], [b]) => (a < b ? -1 : 1))),
  }
}

/** Returns the name of the part that a schema refers to, if it is a reference. */
function referredId({ $ref }: Json): string | undefined {
  return typeof $ref === 'string' ? /^#\/\$defs\/(.+)$/.exec($ref)?.[1] : undefined
}

function convert(schema: z.ZodType, io: Direction, metadata?: typeof NAMES): Json {
  const options = { io, unrepresentable: 'any', override, ...defined({ metadata }) } as const
  const { $schema: _dialect, ...json } = asRecord(z.toJSONSchema(schema, options))
  return json
}

type Override = NonNullable<NonNullable<Parameters<typeof z.toJSONSchema>[1]>['override']>

/** Leaves out what holds for every JSON number, and what would keep the server from adding fields to its answers. */
const override: Override = ({ zodSchema, jsonSchema }) => {
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum
  const { def } = zodSchema._zod
  if (def.type === 'object' && !('catchall' in def && def.catchall !== undefined)) delete jsonSchema.additionalProperties
}

/** Replaces references to `$defs` with references to the named schemas of the document. */
function refer(value: unknown, direction: Direction): unknown {
  if (Array.isArray(value)) return value.map((each) => refer(each, direction))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(joinNull({ ...value })).map(([key, each]) => {
      const id = key === '$ref' ? referredId({ $ref: each }) : undefined
      return [key, id === undefined ? refer(each, direction) : `#/components/schemas/${nameOf(id, direction)}`]
    }),
  )
}

/** `null` as a further type instead of as an alternative. */
function joinNull(schema: Json): Json {
  const { anyOf, ...others } = schema
  if (!Array.isArray(anyOf) || anyOf.length !== 2 || asRecord(anyOf[1])['type'] !== 'null') return schema
  const { type, ...rest } = asRecord(anyOf[0])
  return typeof type === 'string' && !('enum' in rest) && !('const' in rest)
    ? { ...others, type: [type, 'null'], ...rest }
    : schema
}

/** What callers write has a name of its own where it differs from what the server writes. */
function nameOf(id: string, direction: Direction): string {
  return direction === 'output' || id.endsWith('Input') || isSame(id) ? id : `${id}Input`
}

const same = new Map<string, boolean>()

function isSame(id: string): boolean {
  const known = same.get(id)
  if (known !== undefined) return known
  const schema = EXPORTED.get(id)
  const [input, output] = (['input', 'output'] as const).map((io) => schema && JSON.stringify(convert(schema, io)))
  same.set(id, input === output)
  return input === output
}

export function asRecord(value: unknown): Json {
  return typeof value === 'object' && value !== null ? { ...value } : {}
}
