/** Files with applications: one document or several, of which one is read and changed while the others stay byte for byte. */
import { isDeepStrictEqual } from 'node:util'
import { parseAllDocuments } from 'yaml'
import { z } from 'zod'
import { valueAt } from './value-at.ts'
import { editYaml, openYaml, type Edit } from './yaml.ts'

/** Aliases that a document may have. */
const MAX_ALIASES = 100

/** What tells an application from other objects. */
const Named = z.looseObject({
  apiVersion: z.string().startsWith('argoproj.io/'),
  kind: z.literal('Application'),
  metadata: z.looseObject({ name: z.string(), namespace: z.string().optional() }),
})

/** A document of a file. */
export interface FoundDocument {
  readonly text: string
  /** Where it begins and ends in the file. */
  readonly from: number
  readonly to: number
  /** Namespace that it names. */
  readonly namespace: string | undefined
}

/** Returns the document of a file that is the application of this name; undefined if there is none, and for a file that is not valid YAML. */
export function findApplication(file: string, name: string): FoundDocument | undefined {
  // Most files need not be parsed.
  if (!file.includes('Application') || !file.includes(name)) return undefined
  for (const { from, to } of partsOf(file)) {
    const text = file.slice(from, to)
    const found = Named.safeParse(valueOf(text)).data
    if (found?.metadata.name === name) return { text, from, to, namespace: found.metadata.namespace }
  }
  return undefined
}

/** Returns the file with another text of one document. */
export function replaceDocument(file: string, { from, to }: Pick<FoundDocument, 'from' | 'to'>, text: string): string {
  const start = from > 0 && !/^---(?:\s|$)/.test(text) ? '---\n' : ''
  return file.slice(0, from) + start + (text.endsWith('\n') ? text : `${text}\n`) + file.slice(to)
}

function partsOf(file: string): { from: number; to: number }[] {
  const documents = [...parseAllDocuments(file)]
  if (documents.some(({ errors }) => errors.length > 0)) return []
  const starts = documents.map(({ range }, index) => (index === 0 ? 0 : range[0]))
  return starts.map((from, index) => ({ from, to: starts[index + 1] ?? file.length }))
}

/** Returns the value of a text with one document. Undefined for others, and for YAML that is not valid. */
export function valueOf(text: string): unknown {
  try {
    return openYaml(text)?.toJS({ maxAliasCount: MAX_ALIASES })
  } catch {
    return undefined
  }
}

/** Returns the values of all documents of a file; none for a file that is not valid YAML. */
export function valuesOf(file: string): unknown[] {
  try {
    const documents = [...parseAllDocuments(file)]
    if (documents.some(({ errors }) => errors.length > 0)) return []
    return documents.map((document): unknown => document.toJS({ maxAliasCount: MAX_ALIASES }))
  } catch {
    // It has too many aliases, or too many lists and objects inside each other.
    return []
  }
}

/** Returns true if both texts say the same. */
export function isSameManifest(one: string, other: string): boolean {
  return isDeepStrictEqual(valueOf(one), valueOf(other))
}

/** Returns a document with these fields. The text is returned unchanged if it says this already. Undefined if it has something else where a field belongs. */
export function editDocument(text: string, edits: readonly Edit[]): string | undefined {
  if (edits.length === 0) return text
  const edited = editYaml(text, edits)
  return edited !== undefined && isSameManifest(text, edited) ? text : edited
}

/** Returns the document with the values of another one: only fields that differ are written. */
export function editToManifest(text: string, wanted: string): string | undefined {
  return editDocument(text, editsBetween(valueOf(text), valueOf(wanted)))
}

/**
 * Returns another version of a document with the fields that differ between its base and the own version. Undefined if the other one has changed one of these fields too.
 */
export function mergeDocuments({
  base,
  own,
  other,
}: {
  readonly base: string
  readonly own: string
  readonly other: string
}): string | undefined {
  const [before, now] = [valueOf(base), valueOf(other)]
  const edits = editsBetween(before, valueOf(own)).filter(([path, value]) => !isDeepStrictEqual(valueAt(now, path), value))
  if (edits.some(([path]) => !isDeepStrictEqual(valueAt(before, path), valueAt(now, path)))) return undefined
  return editDocument(other, edits)
}

/** Returns what makes one value another. Lists of different lengths are replaced as a whole. */
function editsBetween(before: unknown, after: unknown, path: Edit[0] = []): Edit[] {
  if (isDeepStrictEqual(before, after)) return []
  if (isMap(before) && isMap(after)) {
    const removed = Object.keys(before).filter((key) => !Object.hasOwn(after, key))
    return [
      ...removed.map((key): Edit => [[...path, key], undefined]),
      ...Object.entries(after).flatMap(([key, value]) =>
        editsBetween(Object.hasOwn(before, key) ? before[key] : undefined, value, [...path, key]),
      ),
    ]
  }
  if (Array.isArray(before) && Array.isArray(after) && before.length === after.length)
    return after.flatMap((value: unknown, index) => editsBetween(before[index], value, [...path, index]))
  return [[path, after]]
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
