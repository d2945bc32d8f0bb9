/** Values that a promotion copies from one file to another: YAML keeps its comments and its other fields, JSON its indentation. Pure. */
import { editYaml, openYaml, type Edit } from './yaml.ts'
import { valueAt } from './value-at.ts'

/** Aliases that a file may have. More would let a small file become a large value. */
const MAX_ALIASES = 100
/** Longest value as JSON: aliases can repeat a large text. Characters. */
const MAX_VALUE = 1_048_576

/** A file of both applications. */
export interface PromotedFile {
  /** Its path, for messages; `.json` is JSON, and everything else YAML. */
  readonly path: string
  /** Undefined if the file does not exist. */
  readonly source: string | undefined
  readonly target: string | undefined
}

/** The new text of the target, or why there is none. */
export type Promoted = { readonly text: string } | { readonly problem: string }

/** Copies the values at these paths from the source to the target. A value that the source does not have is a problem; one that the target does not have is added. */
export function promoteValues({ path, source, target }: PromotedFile, jsonPaths: readonly string[]): Promoted {
  if (source === undefined) return { problem: `The file "${path}" does not exist in the application from which is promoted.` }
  if (target === undefined) return { problem: `The file "${path}" does not exist in the application to which is promoted.` }
  const from = readValue(path, source)
  if (from === undefined) return { problem: `The file "${path}" from which is promoted is not one document with a map.` }
  const edits: Edit[] = []
  for (const jsonPath of jsonPaths) {
    const keys = keysOf(jsonPath)
    const value = valueAt(from, keys)
    if (value === undefined) return { problem: `The file "${path}" from which is promoted has no value at ${jsonPath}.` }
    if (JSON.stringify(value).length > MAX_VALUE)
      return { problem: `The value at ${jsonPath} of the file "${path}" has more than ${MAX_VALUE} characters.` }
    edits.push([keys, value])
  }
  const text = isJson(path) ? editJson(target, edits) : editYaml(target, edits)
  return text === undefined
    ? {
        problem: `The file "${path}" to which is promoted is not one document with a map, or has something else where a value belongs.`,
      }
    : { text }
}

/** Returns the text at a path; undefined if it is neither a text nor a number. */
export function readText(file: Pick<PromotedFile, 'path'> & { readonly text: string }, jsonPath: string): string | undefined {
  const value = valueAt(readValue(file.path, file.text), keysOf(jsonPath))
  if (EXACT_JSON.isRawJSON(value)) return JSON.stringify(value)
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined
}

function isJson(path: string): boolean {
  return path.toLowerCase().endsWith('.json')
}

function readValue(path: string, text: string): unknown {
  try {
    return isJson(path) ? EXACT_JSON.parse(text, keepNumber) : openYaml(text)?.toJS({ maxAliasCount: MAX_ALIASES })
  } catch {
    return undefined
  }
}

/** What Node.js has, and the types of the language do not have yet. */
interface ExactJson {
  parse(text: string, revive: (key: string, value: unknown, context: { readonly source?: string }) => unknown): unknown
  rawJSON(text: string): unknown
  isRawJSON(value: unknown): boolean
}
// The functions exist since Node.js 22.
const EXACT_JSON = JSON as unknown as ExactJson

/** Keeps the text of a number that would be written in another way, such as one of 20 digits, or 1.0. */
function keepNumber(_key: string, value: unknown, { source }: { readonly source?: string }): unknown {
  return typeof value === 'number' && source !== undefined && String(value) !== source ? EXACT_JSON.rawJSON(source) : value
}

/** Splits `$.spec.images[0]['a.b']` into its keys. */
export function keysOf(jsonPath: string): (string | number)[] {
  const parts = jsonPath.replace(/^\$/, '').matchAll(/\[(\d+)\]|\['([^']*)'\]|\.?([^.[\]]+)/g)
  return [...parts].map(([, index, quoted, plain]) => (index === undefined ? (quoted ?? plain ?? '') : Number(index)))
}

/** Sets values of a JSON text. Undefined if it has something else where a value belongs. */
function editJson(text: string, edits: readonly Edit[]): string | undefined {
  const value: unknown = readValue('.json', text)
  if (typeof value !== 'object' || value === null) return undefined
  for (const [path, wanted] of edits) if (!setAt(value, path, wanted)) return undefined
  const indent = /^[\t ]+/m.exec(text)?.[0] ?? ''
  return `${JSON.stringify(value, undefined, indent)}${text.endsWith('\n') ? '\n' : ''}`
}

function setAt(value: object, path: Edit[0], wanted: unknown): boolean {
  let at: object = value
  for (const key of path.slice(0, -1)) {
    if (!Object.hasOwn(at, key)) setOwn(at, key, {})
    const next: unknown = Reflect.get(at, key)
    if (typeof next !== 'object' || next === null) return false
    at = next
  }
  const last = path.at(-1)
  return last !== undefined && setOwn(at, last, wanted)
}

/** Sets a field of the object itself, also `__proto__`. */
function setOwn(on: object, key: string | number, value: unknown): boolean {
  return Reflect.defineProperty(on, key, { value, writable: true, enumerable: true, configurable: true })
}
