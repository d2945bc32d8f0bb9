/** YAML of the shared configuration repository: the same text for the same value, and edits that keep comments and unknown fields. */
import { isMap, parseAllDocuments, stringify, type Document } from 'yaml'
import { z } from 'zod'

/** Aliases that a file may have. More would let a small file become a large value. */
const MAX_ALIASES = 100

/** A Kubernetes object that a person may have written. */
export const Manifest = z.looseObject({
  apiVersion: z.string(),
  kind: z.string(),
  metadata: z.looseObject({
    name: z.string(),
    namespace: z.string().optional(),
    labels: z.record(z.string(), z.string()).optional(),
  }),
})
export type Manifest = z.infer<typeof Manifest>

/** Returns the YAML of a value. Keys keep their order, and long texts are not wrapped. */
export function toYaml(value: object): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false })
}

/** Opens a file that is one document with a map. Returns undefined for others, and for YAML that is not valid. */
export function openYaml(text: string): Document | undefined {
  const documents = [...parseAllDocuments(text)]
  const [document] = documents
  if (documents.length !== 1 || document === undefined || document.errors.length > 0) return undefined
  return isMap(document.contents) ? document : undefined
}

/** Returns the object of a file. Undefined for a file that is not one object of Kubernetes. */
export function readManifest(text: string): Manifest | undefined {
  try {
    return Manifest.safeParse(openYaml(text)?.toJS({ maxAliasCount: MAX_ALIASES })).data
  } catch {
    // It has too many aliases, or an alias without an anchor.
    return undefined
  }
}

/** A field of a document and its value. Undefined removes the field. */
export type Edit = readonly [path: readonly (string | number)[], value: unknown]

/** Sets fields of a file. Returns undefined if the file has something else where a field belongs. */
export function editYaml(text: string, edits: readonly Edit[]): string | undefined {
  const document = openYaml(text)
  if (document === undefined) return undefined
  try {
    for (const [path, value] of edits)
      if (value !== undefined) document.setIn(path, typeof value === 'object' ? document.createNode(value) : value)
      else if (document.hasIn(path)) document.deleteIn(path)
    return document.toString({ lineWidth: 0 })
  } catch {
    return undefined
  }
}
