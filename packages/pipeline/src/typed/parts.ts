/** The parts of a typed step, with the fields as published manifests write them. */
import type { Range } from '../source.ts'
import { child } from '../tree.ts'
import type { Entry, MapNode, TreeNode } from '../tree.ts'

/** Where a typed step works that says nothing, whatever else the pipeline clones. */
const HOME = '/codefresh/volume'
const CAMEL = /^[a-z]+(?:[A-Z][a-z]+)+$/
/** Names that the language itself writes in camel case. */
const OWN_CAMEL = new Set(['accessKeyId', 'secretAccessKey', 'maxAttempts', 'exponentialFactor'])
/** Types whose steps work in a directory. */
const WITHOUT_DIRECTORY = new Set(['push', 'push-tag', 'pending-approval', 'parallel', 'deploy', 'services'])

/** The steps of an implementation with camel-case fields renamed and their working directory set. */
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
  const hasDirectory = entries.has('working_directory') || entries.has('working-directory') || within(inner, 'working_directory')
  if (!hasDirectory && !WITHOUT_DIRECTORY.has(typeIn(entries)))
    entries.set('working_directory', textEntry('working_directory', directory, step.range))
  return { ...step, entries }
}

/** Forms that published manifests use and the language does not have; a field without a value is one that a template left empty. */
function withOldForms(entries: Map<string, Entry>): Map<string, Entry> {
  for (const { key, value } of entries.values()) if (value.kind === 'scalar' && value.value === null) entries.delete(key)
  const type = typeIn(entries)
  const repository = entries.get('repository')
  const name = type === 'build' ? 'image_name' : type === 'git-clone' ? 'repo' : undefined
  if (repository !== undefined && name !== undefined && !entries.has(name)) {
    entries.delete('repository')
    entries.set(name, { ...repository, key: name })
  }
  const dockerfile = entries.get('dockerfile')
  const path = child(dockerfile?.value, 'path')
  if (type === 'build' && dockerfile !== undefined && path !== undefined)
    entries.set('dockerfile', { ...dockerfile, value: path })
  return entries
}

function within(entry: Entry | undefined, key: string): boolean {
  return entry?.value.kind === 'map' && entry.value.entries.has(key)
}

function typeIn(entries: ReadonlyMap<string, Entry>): string {
  const type = entries.get('type')?.value
  return type?.kind === 'scalar' && typeof type.value === 'string' ? type.value : 'freestyle'
}

/** A name of the language, not of a step type: those have their own argument names. */
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
