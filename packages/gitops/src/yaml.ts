/** YAML of the shared configuration repository: the same text for the same value, and edits that keep comments and unknown fields. */
import { isMap, isScalar, parseAllDocuments, parseDocument, stringify, type Document, type Scalar } from 'yaml'
import { z } from 'zod'
import { formatOf } from './yaml-format.ts'

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

/**
 * Returns the YAML of a value. Keys keep their order, and long texts are not wrapped. Argo CD and Helm read YAML 1.1, where a plain `yes`, `off` or `1_000` is not a text,
 * so such texts have quotes.
 */
export function toYaml(value: unknown): string {
  return stringify(value, { lineWidth: 0, aliasDuplicateObjects: false, compat: 'yaml-1.1' })
}

/** Opens a file that is one document with a map. Returns undefined for others, and for YAML that is not valid. */
export function openYaml(text: string): Document | undefined {
  return openOnly(text, 'core')
}

/** `failsafe`: every scalar is the text of the file, so that a change of another field writes `0777`, `yes` or a number of 20 digits as it was. */
function openOnly(text: string, schema: 'core' | 'failsafe'): Document | undefined {
  const documents = [...parseAllDocuments(text, { schema })]
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

/**
 * Sets fields of a file. Other fields keep their text, the file keeps its indentation, and new texts have the quotes of `toYaml`. Returns undefined if the file has something else where a field
 * belongs.
 */
export function editYaml(text: string, edits: readonly Edit[]): string | undefined {
  // Checks that core YAML accepts the file as well.
  const document = openYaml(text) && openOnly(text, 'failsafe')
  if (document === undefined) return undefined
  const format = formatOf(text, document)
  try {
    for (const [path, value] of edits)
      if (value !== undefined) setField(document, path, value)
      else if (document.hasIn(path)) document.deleteIn(path)
    return document.toString({ lineWidth: 0, ...format })
  } catch {
    return undefined
  }
}

function setField(document: Document, path: Edit[0], value: unknown): void {
  const node = nodeOf(value)
  const before = document.getIn(path, true)
  if (isScalar(before) && isScalar(node)) {
    // The node of the file has its comment, and the style of its text.
    const keepsStyle = typeof value === 'string' && node.type === 'PLAIN' && isQuoted(before)
    before.value = node.value
    if (!keepsStyle && node.type !== undefined) before.type = node.type
  } else
    document.setIn(
      path.map((part) => (typeof part === 'string' ? nodeOf(part) : part)),
      node,
    )
}

function isQuoted({ type }: Scalar): boolean {
  return type === 'QUOTE_DOUBLE' || type === 'QUOTE_SINGLE'
}

/** Returns the node of a value with the quotes of `toYaml`. */
function nodeOf(value: unknown): unknown {
  return parseDocument(toYaml(value), { schema: 'failsafe' }).contents
}
