/** Reads the checked fields of a record. A field of the wrong type reads as absent, because the document does not compile then anyway. */
import type { FlagTemplate, JsonTemplate } from '@windlass/plan'
import { toFlag } from '@windlass/plan'
import { numberOf } from './check.ts'
import type { Entry, MapNode, TreeNode } from '../syntax/tree.ts'
import { child, textOf } from '../syntax/tree.ts'

export type Entries = ReadonlyMap<string, Entry>

/** Returns the node of a field, or undefined if it is missing or null. */
export function node(entries: Entries, key: string): TreeNode | undefined {
  const value = entries.get(key)?.value
  return value?.kind === 'scalar' && value.value === null ? undefined : value
}

export function text(entries: Entries, key: string): string | undefined {
  return textOf(node(entries, key))
}

export function number(entries: Entries, key: string): number | undefined {
  return numberOf(node(entries, key))
}

/** Returns the texts of a list, or undefined if the field is missing. */
export function texts(entries: Entries, key: string): string[] | undefined {
  const value = node(entries, key)
  if (value === undefined) return undefined
  return value.kind === 'list' ? value.items.flatMap((item) => textOf(item) ?? []) : []
}

/** Returns a command line: a list, or one text that counts as a list of one. */
export function line(entries: Entries, key: string): string[] | undefined {
  const single = text(entries, key)
  return single === undefined ? texts(entries, key) : [single]
}

export function flag(entries: Entries, key: string): FlagTemplate | undefined {
  const value = node(entries, key)
  if (value?.kind !== 'scalar' || value.value === null) return undefined
  if (typeof value.value === 'boolean') return value.value
  return toFlag(String(value.value)) ?? String(value.value)
}

export function map(entries: Entries, key: string): MapNode | undefined {
  const value = node(entries, key)
  return value?.kind === 'map' ? value : undefined
}

/** Returns `tag` and `tags` together, without duplicates. */
export function tags(entries: Entries): string[] {
  const single = text(entries, 'tag')
  return [...new Set([...(single === undefined ? [] : [single]), ...(texts(entries, 'tags') ?? [])])]
}

/** Returns a text, number or boolean as written; empty for null, undefined for anything else. */
export function plain(value: TreeNode | undefined): string | undefined {
  if (value?.kind !== 'scalar') return undefined
  return typeof value.value === 'string' ? value.value : value.value === null ? '' : value.written
}

/** Returns the `NAME=VALUE` entries of a list or of a mapping. */
export function environment(entries: Entries, key: string): string[] {
  const written = map(entries, key)
  if (written === undefined) return texts(entries, key) ?? []
  return [...written.entries.values()].map(({ key: name, value }) => `${name}=${plain(value) ?? ''}`)
}

/** Converts a node to JSON, for free-form parts of a plan. */
export function json(value: TreeNode): JsonTemplate {
  if (value.kind === 'scalar') return value.value
  if (value.kind === 'list') return value.items.map(json)
  return Object.fromEntries([...value.entries.values()].map((entry) => [entry.key, json(entry.value)]))
}

/** Converts a mapping to a JSON object. */
export function jsonObject(value: MapNode): Record<string, JsonTemplate> {
  return Object.fromEntries([...value.entries.values()].map((entry) => [entry.key, json(entry.value)]))
}

/** Returns the entries of a mapping as JSON by name. */
export function jsonMap(entries: Entries, key: string): Record<string, JsonTemplate> {
  const written = map(entries, key)
  return written === undefined ? {} : jsonObject(written)
}

export function credentials(entries: Entries): { username: string; password: string } | undefined {
  const written = map(entries, 'credentials')
  const username = textOf(child(written, 'username'))
  const password = textOf(child(written, 'password'))
  return username === undefined || password === undefined ? undefined : { username, password }
}

/** Returns `{ key: value }`, or an empty object if the value is undefined: for optional fields of the plan. */
export function when<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  const one: { [P in K]?: V } = {}
  if (value !== undefined) one[key] = value
  return one
}
