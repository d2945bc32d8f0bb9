/** Keys of a configuration that its schema does not have. */
import { isRecord } from '@windlass/kit/json'
import { nearest } from '@windlass/plan/suggest'
import { z } from 'zod'
import type { Path } from './toml-lines.ts'

export interface UnknownKey {
  readonly path: Path
  /** The known key that was probably meant. */
  readonly near: string | undefined
}

/** Returns the unknown keys of a value, in the order of the value. */
export function unknownKeys(schema: z.ZodType, value: unknown, path: Path = []): UnknownKey[] {
  const inner = unwrap(schema)
  if (inner instanceof z.ZodArray && Array.isArray(value)) {
    const { element } = inner
    return element instanceof z.ZodType ? value.flatMap((item, n) => unknownKeys(element, item, [...path, n])) : []
  }
  if (!(inner instanceof z.ZodObject) || !isRecord(value)) return []
  const shape: Readonly<Record<string, z.ZodType>> = inner.shape
  return Object.entries(value).flatMap(([key, below]): UnknownKey[] => {
    const known = Object.hasOwn(shape, key) ? shape[key] : undefined
    if (known !== undefined) return unknownKeys(known, below, [...path, key])
    return [{ path: [...path, key], near: nearest(key.toLowerCase(), Object.keys(shape)) }]
  })
}

/** Returns the type below optional types and defaults. */
export function unwrap(schema: z.ZodType): z.ZodType {
  let inner: unknown = schema
  while (inner instanceof z.ZodOptional || inner instanceof z.ZodDefault) inner = inner.unwrap()
  return inner instanceof z.ZodType ? inner : schema
}
