/** Finds out what a document is. */
import { isRecord } from '@windlass/kit/json'
import { parseYaml, toValue } from '@windlass/pipeline'
import { Name } from '@windlass/protocol'
import { MIGRATED_KINDS, type Left, type MigratedKind, type Remark, type SourceDocument } from './verdict.ts'

export type Fields = Readonly<Record<string, unknown>>

/** A document of one of our kinds. */
export interface Recognized {
  readonly kind: MigratedKind
  readonly name: string
  readonly document: SourceDocument
  /** True for a pipeline without kind, settings and name. */
  readonly isInline: boolean
  readonly metadata: Fields
  readonly spec: Fields
}

const LOOKS_LIKE_OURS =
  /^[ \t]*(?:\{|["']?steps["']?[ \t]*:|["']?kind["']?[ \t]*:[ \t]*["']?(?:project|step-type|context|pipeline)\b)/m

/** Returns what the document is, or why it is left. Undefined for something else that the user has not named, such as a manifest of Kubernetes. */
export function recognize(document: SourceDocument): Recognized | Left | undefined {
  const { text, from, isNamed } = document
  if (!isNamed && !LOOKS_LIKE_OURS.test(text)) return undefined
  const { root, problems } = parseYaml({ text, file: from })
  const [problem] = problems
  if (root === undefined && problem !== undefined)
    return leave(document, { line: lineIn(document, problem.line), reason: sentence(problem.message), action: problem.hint })
  const value = root === undefined ? undefined : toValue(root)
  if (!isRecord(value)) return isNamed ? leave(document, { reason: 'The document is not a mapping.', action: '' }) : undefined
  const kind = MIGRATED_KINDS.find((one) => one === value['kind'])
  const isInline = value['kind'] === undefined && isRecord(value['steps'])
  if (kind === undefined && !isInline) return isNamed ? leave(document, unknownKind(value['kind'])) : undefined
  const metadata = fieldsIn(value, 'metadata')
  const named = { kind: kind ?? 'pipeline', name: isInline ? (document.name ?? '') : textIn(metadata, 'name') } as const
  if (!Name.safeParse(named.name).success) return { ...named, from, reasons: [nameRemark(named.name)] }
  return { ...named, document, isInline, metadata, spec: isInline ? {} : fieldsIn(value, 'spec') }
}

function unknownKind(kind: unknown): Omit<Remark, 'path'> {
  const reason =
    kind === undefined ? 'The document has neither a kind nor steps.' : `The kind ${JSON.stringify(kind)} is not migrated.`
  return { reason, action: `Name documents of kind ${MIGRATED_KINDS.join(', ')}.` }
}

function nameRemark(name: string): Remark {
  const reason =
    name === ''
      ? 'The document has no name.'
      : `The name "${name}" is not possible: it must start with a letter or digit and contain only letters, digits and . _ @ : / -, at most 150.`
  return { path: 'metadata.name', reason, action: 'Rename it and migrate it again.' }
}

function leave({ from, name = '' }: SourceDocument, remark: Omit<Remark, 'path'>): Left {
  return { kind: 'document', name, from, reasons: [{ path: '', ...remark }] }
}

/** Returns the line in the file of a line in the document; undefined if it is not from a file. */
export function lineIn({ line }: SourceDocument, inDocument: number): number | undefined {
  return line === undefined ? undefined : line + inDocument - 1
}

/** Returns a diagnostic as a sentence: it starts with a lower-case letter and has no full stop. */
export function sentence(message: string): string {
  const first = message.charAt(0).toUpperCase() + message.slice(1)
  return /[.!?]$/.test(first) ? first : `${first}.`
}

/** Returns the mapping in a field; an empty one if there is none. */
export function fieldsIn(fields: Fields, key: string): Fields {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined
  return isRecord(value) ? value : {}
}

/** Returns the text in a field; an empty one if there is none. */
export function textIn(fields: Fields, key: string): string {
  const value = Object.hasOwn(fields, key) ? fields[key] : undefined
  return typeof value === 'string' ? value : ''
}
