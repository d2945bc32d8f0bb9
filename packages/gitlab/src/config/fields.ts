/** Types of the values in the configuration of a runner. */
import { z } from 'zod'
import { parseGoDuration } from './duration.ts'

export const text = z.string()
export const texts = z.array(z.string())
export const table = z.record(z.string(), z.string())
export const bool = z.boolean()
export const count = z.int().min(0)

/** A duration: text such as `15m`, or nanoseconds. Becomes milliseconds. */
export const duration = z.union([z.string(), z.int()]).transform((value, context) => {
  const ms = typeof value === 'number' ? value / 1e6 : parseGoDuration(value)
  if (ms !== undefined) return ms
  context.addIssue({ code: 'custom', message: `has the value "${value}", which is not a duration, such as 90s, 15m or 1h30m` })
  return z.NEVER
})

/** A quantity of Kubernetes, such as `500m` or `1Gi`. */
export const quantity = z
  .string()
  .regex(
    /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/,
    'is not a quantity of Kubernetes, such as 500m, 2 or 1Gi',
  )

/** A regular expression. Text that is empty matches nothing. */
export const pattern = z.string().refine((source) => {
  try {
    return new RegExp(source) instanceof RegExp
  } catch {
    return false
  }
}, 'is not a valid regular expression')

/** Date and time, which TOML has as a type of its own. Becomes ISO text. */
export const time = z.union([z.string(), z.date()]).transform((value, context) => {
  const at = new Date(value)
  if (!Number.isNaN(at.getTime())) return at.toISOString()
  context.addIssue({
    code: 'custom',
    message: `has the value "${String(value)}", which is not a time, such as 2026-01-31T12:00:00Z`,
  })
  return z.NEVER
})

/** Entries `NAME=value`. */
export const environment = z.array(z.string().regex(/^[^=]+=/, 'is not of the form NAME=value'))

/** Returns a shape in which all keys have one optional type. */
export function optionalShape<K extends string, T extends z.ZodType>(keys: readonly K[], type: T): Record<K, z.ZodOptional<T>> {
  // Each key is in the list.
  return Object.fromEntries(keys.map((key) => [key, type.optional()])) as Record<K, z.ZodOptional<T>>
}
