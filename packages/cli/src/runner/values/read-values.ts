/** Values of an installation from their three places: a file, `--set-value` and `--set-file`. Flags come on top in `wishes.ts`. */
import { fault } from '@windlass/kit/faults'
import { parse } from 'yaml'

export type Tree = { readonly [key: string]: unknown }

/** Reads a values file (YAML or JSON). Throws `document-invalid`. */
export function parseValuesFile(text: string, file: string): Tree {
  let value: unknown
  try {
    value = parse(text, { maxAliasCount: 100 }) ?? {}
  } catch (error) {
    throw fault('document-invalid', { message: `${file} is not YAML: ${error instanceof Error ? error.message : String(error)}` })
  }
  if (!isTree(value)) throw fault('document-invalid', { message: `${file} must be a mapping of values.` })
  return value
}

/** The tree with one value set: `Storage.Backend` and `ebs`. A dot inside of a key is written `\.`. Throws `usage`. */
export function setValue(tree: Tree, path: string, value: unknown): Tree {
  const [key = '', ...rest] = path.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'))
  if (key === '' || key === '__proto__') throw fault('usage', { message: `'${path}' is not the name of a value.` })
  return put(tree, [key, ...rest], value)
}

function put(tree: Tree, [key = '', ...rest]: readonly string[], value: unknown): Tree {
  if (rest.length === 0) return { ...tree, [key]: value }
  const inner = tree[key]
  return { ...tree, [key]: put(isTree(inner) ? inner : {}, rest, value) }
}

/** `name=value` at its first `=`; the value may hold more of them. Throws `usage`. */
export function splitPair(text: string, flag: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw fault('usage', { message: `${flag} needs NAME=VALUE, not '${text}'.` })
  return [text.slice(0, at), text.slice(at + 1)]
}

/** Both trees; where both say something the second wins, mappings are merged. */
export function mergeTrees(below: Tree, above: Tree): Tree {
  const merged: Record<string, unknown> = { ...below }
  for (const [key, value] of Object.entries(above)) {
    if (value === undefined) continue
    const before = merged[key]
    merged[key] = isTree(before) && isTree(value) ? mergeTrees(before, value) : value
  }
  return merged
}

/** The tree without what is not said: undefined values and mappings that hold nothing. */
export function pruneTree(tree: Tree): Tree {
  const kept: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(tree)) {
    const inner = isTree(value) ? pruneTree(value) : value
    if (inner === undefined || (isTree(inner) && Object.keys(inner).length === 0)) continue
    kept[key] = inner
  }
  return kept
}

/** A text of the command line as a value: `true` and `false` are booleans, everything else stays text. */
export function typedValue(text: string): string | boolean {
  return text === 'true' ? true : text === 'false' ? false : text
}

export function isTree(value: unknown): value is Tree {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
