/** Fields of objects of Kubernetes and answers of Argo CD: what is absent, null or empty is the same there. */
import { z } from 'zod'

/** Longest message that is passed on. Characters. */
const MAX_TEXT = 4_000

/** An absent, null or empty text is undefined. */
export const wholeText = z
  .string()
  .nullish()
  .transform((value) => (value === null || value === '' ? undefined : value))

/** The same, and what is too long for a message is cut. */
export const text = wholeText.transform((value) => value?.slice(0, MAX_TEXT))

export const list = <T extends z.ZodType>(item: T) =>
  z
    .array(item)
    .nullish()
    .transform((items) => items ?? [])

/** RFC 3339. What is not a time is absent. */
export const time = z
  .string()
  .nullish()
  .transform((value) => timeOf(value ?? undefined))

/** Returns the time of an RFC 3339 text, epoch milliseconds; undefined if it is not one. */
export function timeOf(value: string | undefined): number | undefined {
  const at = Date.parse(value ?? '')
  return Number.isNaN(at) || at < 0 ? undefined : at
}
