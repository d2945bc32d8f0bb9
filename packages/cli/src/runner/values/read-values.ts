/** Reads installation values from a file, `--set-value` and `--set-file`. `install-values.ts` adds the flags. */
import { fault } from '@windlass/kit/faults'
import { isRecord } from '@windlass/kit/json'
import { parse } from 'yaml'

export type Tree = { readonly [key: string]: unknown }

/** Reads a values file (YAML or JSON). Throws `document-invalid`. */
export function parseValuesFile(text: string, file: string): Tree {
  let value: unknown
  try {
    value = parse(text, { maxAliasCount: 100 }) ?? {}
  } catch (error) {
    throw fault('document-invalid', {
      message: `${file} is not valid YAML: ${error instanceof Error ? error.message : String(error)}`,
      hint: 'Correct the file, then run the command again.',
    })
  }
  if (!isRecord(value))
    throw fault('document-invalid', {
      message: `${file} must be a mapping of values.`,
      hint: 'Write the values as `key: value` at the top level of the file.',
    })
  return value
}

/** Returns the tree with a value set, such as `Storage.Backend` to `ebs`. A dot within a key is written `\.`. Throws `usage`. */
export function setValue(tree: Tree, path: string, value: unknown): Tree {
  const [key = '', ...rest] = path.split(/(?<!\\)\./).map((part) => part.replaceAll('\\.', '.'))
  if (key === '' || key === '__proto__') throw fault('usage', { message: `"${path}" is not the name of a value.` })
  return put(tree, [key, ...rest], value)
}

function put(tree: Tree, [key = '', ...rest]: readonly string[], value: unknown): Tree {
  if (rest.length === 0) return { ...tree, [key]: value }
  const inner = tree[key]
  return { ...tree, [key]: put(isRecord(inner) ? inner : {}, rest, value) }
}

/** Returns the value at a path of keys; undefined if there is none. */
export function valueAt(tree: unknown, path: readonly string[]): unknown {
  return path.reduce((at: unknown, key) => (isRecord(at) ? at[key] : undefined), tree)
}

/** Splits `name=value` at the first `=`. Throws `usage`. */
export function splitPair(text: string, flag: string): readonly [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw fault('usage', { message: `${flag} takes NAME=VALUE, not "${text}".` })
  return [text.slice(0, at), text.slice(at + 1)]
}

/** Merges two trees. Mappings are merged recursively; otherwise the second value wins. */
export function mergeTrees(below: Tree, above: Tree): Tree {
  const merged: Record<string, unknown> = { ...below }
  for (const [key, value] of Object.entries(above)) {
    if (value === undefined) continue
    const before = merged[key]
    merged[key] = isRecord(before) && isRecord(value) ? mergeTrees(before, value) : value
  }
  return merged
}

/** Returns the tree without undefined values and empty mappings. */
export function pruneTree(tree: Tree): Tree {
  const kept: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(tree)) {
    const inner = isRecord(value) ? pruneTree(value) : value
    if (inner === undefined || (isRecord(inner) && Object.keys(inner).length === 0)) continue
    kept[key] = inner
  }
  return kept
}

/** Parses a value of the command line: `true` and `false` are booleans, everything else is text. */
export function typedValue(text: string): string | boolean {
  return text === 'true' ? true : text === 'false' ? false : text
}
