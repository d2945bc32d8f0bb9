/** Answers as clients read them: a newer server may have more values in its closed lists, and more fields. Requests are read strictly by the server. */
import { z } from 'zod'

const known = new WeakMap<z.core.$ZodType, z.core.$ZodType>()

/**
 * Returns the schema of an answer for its readers: each value of a closed list is any text, and further fields are ignored. The type lists only the
 * values of this version, so callers must handle others. The kind of each option of a discriminated union stays as it is, because the other
 * fields depend on it.
 */
export function tolerant<S extends z.ZodType>(schema: S): S {
  return open(schema) as S
}

function open(schema: z.core.$ZodType): z.core.$ZodType {
  const found = known.get(schema)
  if (found !== undefined) return found
  const opened = build(schema as z.core.$ZodTypes)
  known.set(schema, opened)
  return opened
}

/** Definitions that contain one other schema. */
type Wrapper = z.core.$ZodTypeDef & { readonly innerType: z.core.$ZodType }

function build(schema: z.core.$ZodTypes): z.core.$ZodType {
  const { def } = schema._zod
  const change = (changes: object): z.core.$ZodType => z.core.clone(schema, { ...def, ...changes } as typeof def)
  switch (def.type) {
    case 'enum':
      return z.string()
    case 'literal':
      return def.values.every((value) => typeof value === 'string') ? z.string() : schema
    case 'object': {
      const isStrict = def.catchall?._zod.def.type === 'never'
      return change({ shape: mapFields(def.shape), ...(isStrict && { catchall: undefined }) })
    }
    case 'array':
      return change({ element: open(def.element) })
    case 'record':
      return change({ keyType: open(def.keyType), valueType: open(def.valueType) })
    case 'union':
      return change({
        options:
          'discriminator' in def ? def.options.map((one) => openOption(one, String(def.discriminator))) : def.options.map(open),
      })
    case 'pipe':
      return change({ in: open(def.in), out: open(def.out) })
    default:
      return 'innerType' in def ? change({ innerType: open((def as Wrapper).innerType) }) : schema
  }
}

function mapFields(shape: z.core.$ZodShape): z.core.$ZodShape {
  return Object.fromEntries(Object.entries(shape).map(([name, field]) => [name, open(field)]))
}

/** Opens an option of a discriminated union, except the field that tells it from the others. */
function openOption(option: z.core.$ZodType, discriminator: string): z.core.$ZodType {
  const { def } = (option as z.core.$ZodTypes)._zod
  const kind = def.type === 'object' ? def.shape[discriminator] : undefined
  if (def.type !== 'object' || kind === undefined) return open(option)
  return z.core.clone(option, { ...def, shape: { ...mapFields(def.shape), [discriminator]: kind } } as typeof def)
}
