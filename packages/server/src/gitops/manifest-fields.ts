/** Fields of objects of Kubernetes that runtimes report. Texts and lists are cut, because a runtime decides how long they are. */
import { z } from 'zod'

/** Longest texts that are stored. Characters. */
export const MAX_NAME = 253
export const MAX_LINE = 500
export const MAX_MESSAGE = 2_000
/** Maximum number of entries of lists that are stored. */
const MAX_LIST = 100

/** A text of one line. Control characters would move what a terminal shows, and PostgreSQL stores no NUL. */
export function oneLine(value: string, longest: number): string {
  const text = value.replaceAll(/\p{Cc}+/gu, ' ').trim()
  return text.length <= longest ? text : `${text.slice(0, longest - 1)}…`
}

/** An absent, null or empty text is undefined. */
export const text = (longest: number) =>
  z
    .string()
    .nullish()
    .transform((value) => (value === null || value === undefined || value === '' ? undefined : oneLine(value, longest)))

/** The list is cut before its items are validated, because a runtime decides how many there are. */
const cutList = <T extends z.ZodType>(item: T, cut: (items: readonly unknown[]) => unknown[]) =>
  z
    .custom<readonly unknown[]>((items) => Array.isArray(items), { error: 'must be a list' })
    .nullish()
    .transform((items) => cut(items ?? []))
    .pipe(z.array(item))

export const list = <T extends z.ZodType>(item: T, longest = MAX_LIST) => cutList(item, (items) => items.slice(0, longest))

/** The end of a list, which has what is newest. */
export const newest = <T extends z.ZodType>(item: T, longest: number) => cutList(item, (items) => items.slice(-longest))

/** A text that is present, on one line. */
export const line = (longest: number) => z.string().transform((value) => oneLine(value, longest))

/** RFC 3339. What is not a time is absent. */
export const time = z
  .string()
  .nullish()
  .transform((value) => timeOf(value))

/** Returns the time of an RFC 3339 text, epoch milliseconds; undefined if it is not one, or before 1970. */
export function timeOf(value: string | null | undefined): number | undefined {
  const at = Date.parse(value ?? '')
  return Number.isNaN(at) || at < 0 ? undefined : at
}

/** Names as Kubernetes has them; they identify the object and are not cut. */
const Identity = z
  .string()
  .min(1)
  .max(MAX_NAME)
  .regex(/^[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?$/i, 'must be the name of a Kubernetes object')

/** Labels of an object that are stored. Kubernetes limits their lengths, and a runtime may not. */
const MAX_LABELS = 30

const Labels = z
  .record(z.string(), z.string())
  .nullish()
  .transform((labels) =>
    Object.fromEntries(
      Object.entries(labels ?? {})
        .slice(0, MAX_LABELS)
        .map(([key, value]) => [oneLine(key, 317), oneLine(value, 63)] as const),
    ),
  )

export const ObjectMetadata = z.object({
  name: Identity,
  namespace: Identity.nullish().transform((namespace) => namespace ?? ''),
  uid: text(100),
  resourceVersion: text(100),
  creationTimestamp: time,
  deletionTimestamp: time,
  labels: Labels,
  annotations: z
    .record(z.string(), z.string())
    .nullish()
    .transform((annotations) => annotations ?? {}),
})
export type ObjectMetadata = z.output<typeof ObjectMetadata>
