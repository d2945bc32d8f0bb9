/** Makes a JSON Schema small: a part that occurs more than once moves to `$defs`, and references take its places. */

export type JsonSchema = Readonly<Record<string, unknown>>
type Definitions = Readonly<Record<string, JsonSchema>>
type SchemaWithParts = JsonSchema & { readonly $defs: Definitions }

/** A part that takes fewer lines stays where it is. */
const MIN_LINES = 6

/**
 * Returns a schema that accepts the same documents. Definitions keep their names. A shared part gets its name in `known`, or else the name of
 * the field that it describes.
 */
export function shareParts({ $defs, ...root }: SchemaWithParts, known: Definitions): SchemaWithParts {
  const uses = countUses([root, ...Object.values($defs)])
  const definitions: Record<string, JsonSchema> = { ...$defs }
  const knownNames = new Map(Object.entries(known).map(([name, part]) => [JSON.stringify(part), name]))
  const names = new Map<string, string>()
  const share = (part: JsonSchema, field: string): JsonSchema => {
    const { description, deprecated, ...shape } = part
    const text = JSON.stringify(shape)
    if ((uses.get(text) ?? 0) < 2 || JSON.stringify(shape, null, 2).split('\n').length < MIN_LINES)
      return mapParts(part, share, field)
    let name = names.get(text)
    if (name === undefined) {
      name = freeName(knownNames.get(text) ?? field, definitions)
      names.set(text, name)
      definitions[name] = {}
      definitions[name] = mapParts(shape, share, field)
    }
    return {
      ...(description !== undefined && { description }),
      ...(deprecated !== undefined && { deprecated }),
      $ref: `#/$defs/${name}`,
    }
  }
  const small = mapParts(root, share)
  for (const [name, part] of Object.entries($defs)) definitions[name] = mapParts(part, share, name)
  return { ...small, $defs: definitions }
}

/** How often each part occurs without its description, by its JSON. What is inside a part that occurs twice counts once. */
function countUses(schemas: readonly JsonSchema[]): Map<string, number> {
  const uses = new Map<string, number>()
  const count = ({ description: _description, deprecated: _deprecated, ...shape }: JsonSchema): JsonSchema => {
    const text = JSON.stringify(shape)
    const before = uses.get(text) ?? 0
    uses.set(text, before + 1)
    if (before === 0) mapParts(shape, count)
    return shape
  }
  for (const schema of schemas) mapParts(schema, count)
  return uses
}

/** Replaces each schema directly inside another one. `field` is the name of the property, or of the keyword that holds the part. */
function mapParts(schema: JsonSchema, change: (part: JsonSchema, field: string) => JsonSchema, field = 'part'): JsonSchema {
  return Object.fromEntries(
    Object.entries(schema).map(([keyword, value]): [string, unknown] => {
      if (keyword === 'properties' && isSchema(value))
        return [
          keyword,
          Object.fromEntries(Object.entries(value).map(([name, part]) => [name, isSchema(part) ? change(part, name) : part])),
        ]
      if ((keyword === 'anyOf' || keyword === 'allOf') && Array.isArray(value))
        return [keyword, value.map((part: unknown) => (isSchema(part) ? change(part, field) : part))]
      if (['items', 'additionalProperties', 'not', 'if', 'else'].includes(keyword) && isSchema(value))
        return [keyword, change(value, field)]
      return [keyword, value]
    }),
  )
}

function freeName(field: string, definitions: Definitions): string {
  let name = field
  for (let n = 2; Object.hasOwn(definitions, name); n += 1) name = `${field}-${n}`
  return name
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
