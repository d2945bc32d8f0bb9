/** Prepares the parts of a typed step, whose fields Codefresh manifests write differently. */
import { findType } from '../actions/index.ts'
import { typeFields } from '../language/type-fields.ts'
import type { Range } from '../syntax/source.ts'
import type { Entry, MapNode, TreeNode } from '../syntax/tree.ts'

/** Default working directory of parts, independent of other clones of the pipeline. */
const HOME = '/codefresh/volume'
const CAMEL = /^[a-z]+(?:[A-Z][a-z]+)+$/
/** Field names of the language that are in camel case. */
const OWN_CAMEL = new Set(['accessKeyId', 'secretAccessKey', 'maxAttempts', 'exponentialFactor'])

/** Returns the steps of an implementation with camel-case fields renamed and their working directory set. */
export function prepareParts(steps: MapNode, workingDirectory: string | undefined): MapNode {
  const entries = [...steps.entries.values()].map((entry) => ({
    ...entry,
    value: preparePart(entry.value, workingDirectory ?? HOME),
  }))
  return { ...steps, entries: new Map(entries.map((entry) => [entry.key, entry])) }
}

function preparePart(step: TreeNode, directory: string): TreeNode {
  if (step.kind !== 'map') return step
  const entries = withOldForms(renamed(step.entries))
  const inner = entries.get('arguments')
  if (inner?.value.kind === 'map' && isBuiltIn(entries)) {
    entries.set('arguments', { ...inner, value: { ...inner.value, entries: renamed(inner.value.entries) } })
  }
  const nested = entries.get('steps')
  if (nested?.value.kind === 'map') entries.set('steps', { ...nested, value: prepareParts(nested.value, directory) })
  const isWritten = entries.has('working_directory') || entries.has('working-directory') || within(inner, 'working_directory')
  if (!isWritten && hasDirectory(typeIn(entries)))
    entries.set('working_directory', textEntry('working_directory', directory, step.range))
  return { ...step, entries }
}

/** Converts forms that only Codefresh manifests use, and removes empty fields, which templates leave. */
function withOldForms(entries: Map<string, Entry>): Map<string, Entry> {
  for (const { key, value } of entries.values()) if (value.kind === 'scalar' && value.value === null) entries.delete(key)
  findType(typeIn(entries))?.fromManifest?.(entries)
  return entries
}

/** Returns true for types whose steps have a working directory. */
function hasDirectory(type: string): boolean {
  return Object.hasOwn(typeFields(findType(type)).fields, 'working_directory')
}

function within(entry: Entry | undefined, key: string): boolean {
  return entry?.value.kind === 'map' && entry.value.entries.has(key)
}

function typeIn(entries: ReadonlyMap<string, Entry>): string {
  const type = entries.get('type')?.value
  return type?.kind === 'scalar' && typeof type.value === 'string' ? type.value : 'freestyle'
}

/** Returns true for a type of the language. Step types have their own argument names, which are not renamed. */
function isBuiltIn(entries: ReadonlyMap<string, Entry>): boolean {
  return !/[:/]/.test(typeIn(entries))
}

function renamed(entries: ReadonlyMap<string, Entry>): Map<string, Entry> {
  const fresh = new Map<string, Entry>()
  for (const entry of entries.values()) {
    const key = CAMEL.test(entry.key) && !OWN_CAMEL.has(entry.key) ? toSnake(entry.key) : entry.key
    if (!entries.has(key) || key === entry.key) fresh.set(key, { ...entry, key })
  }
  return fresh
}

function toSnake(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
}

function textEntry(key: string, value: string, { start }: Range): Entry {
  const range = { start, end: start }
  return { key, keyRange: range, value: { kind: 'scalar', range, value, style: 'plain', written: value } }
}
