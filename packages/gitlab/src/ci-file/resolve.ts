/** Resolves `extends` and `!reference`. Rules of GitLab: first `extends` of all jobs, then references. */
import { nearest } from '@windlass/plan/suggest'
import type { MissingInclude } from './include.ts'
import {
  invalid,
  listNode,
  MergeLimit,
  mergeTables,
  tableNode,
  without,
  type Entry,
  type Node,
  type Place,
  type ReferenceNode,
  type TableNode,
} from './node.ts'

/** Most levels of `extends`, and of references in references. Those of a GitLab server. */
const MAX_EXTENDS = 11
const MAX_REFERENCES = 10
/** Most values that `extends` and references of all jobs copy or look at. */
const MAX_COPIED = 3_000_000

export interface Resolver {
  /** Returns a top-level table without `extends` and references. Throws `document-invalid`. */
  table(name: string): TableNode
  /** Returns a value without references. Throws `document-invalid`. */
  value(node: Node): Node
}

export interface ResolveOptions {
  readonly table: TableNode
  /** What the file includes and a local run does not have, for messages about names that do not exist. */
  readonly missing: readonly MissingInclude[]
}

export function openResolver(options: ResolveOptions): Resolver {
  const { entries } = options.table
  const extended = new Map<string, TableNode>()
  const limit = new MergeLimit(MAX_COPIED)

  function extend(name: string, path: readonly string[], from: Place): TableNode {
    const known = extended.get(name)
    if (known !== undefined) return known
    const entry = entries.get(name)
    if (entry?.value.kind !== 'table') throw unknownName(options, name, from)
    const chain = [...path, name]
    if (path.includes(name)) throw invalid(from, `jobs extend each other: ${chain.join(' → ')}`)
    if (chain.length > MAX_EXTENDS) throw invalid(from, `\`extends\` has more than ${MAX_EXTENDS} levels: ${chain.join(' → ')}`)
    const parents = parentsOf(entry.value).map((parent) => extend(parent.name, chain, parent.at))
    const own = without(entry.value, 'extends')
    const [first, ...rest] = [...parents, own]
    const result = rest.reduce((under, over) => mergeTables(under, over, limit), first ?? own)
    // Without this, the place of a job would be that of its parent.
    const table = { ...result, at: entry.value.at }
    extended.set(name, table)
    return table
  }

  function follow({ path, at }: ReferenceNode, open: readonly string[]): Node {
    const label = path.join(', ')
    if (open.includes(label))
      throw invalid(at, `references contain each other: ${[...open, label].map((one) => `[${one}]`).join(' → ')}`)
    if (open.length >= MAX_REFERENCES) throw invalid(at, `references are nested more than ${MAX_REFERENCES} times`)
    const [name = '', ...keys] = path
    const top = entries.get(name)
    if (top === undefined) throw unknownName(options, name, at)
    let node: Node = top.value.kind === 'table' ? extend(name, [], at) : top.value
    for (const [index, key] of keys.entries()) {
      // What a reference names can itself be within a reference.
      if (node.kind === 'reference') node = follow(node, [...open, label])
      const entry: Entry | undefined = node.kind === 'table' ? node.entries.get(key) : undefined
      if (entry === undefined)
        throw invalid(at, `!reference [${label}]: "${[name, ...keys.slice(0, index)].join('.')}" has no "${key}"`)
      node = entry.value
    }
    return replace(node, [...open, label])
  }

  function replace(node: Node, open: readonly string[]): Node {
    if (node.kind === 'reference') return follow(node, open)
    if (node.kind === 'list') {
      limit.take(node.at, node.items.length)
      const items = node.items.map((item) => replace(item, open))
      return items.every((item, index) => item === node.items[index]) ? node : listNode(node.at, items)
    }
    return node.kind === 'table' ? replaceIn(node, open) : node
  }

  function replaceIn(node: TableNode, open: readonly string[]): TableNode {
    limit.take(node.at, node.entries.size)
    let isChanged = false
    const changed = new Map<string, Entry>()
    for (const [key, { at, value }] of node.entries) {
      const replaced = replace(value, open)
      isChanged ||= replaced !== value
      changed.set(key, { at, value: replaced })
    }
    return isChanged ? tableNode(node.at, changed) : node
  }

  return {
    table: (name) => replaceIn(extend(name, [], options.table.at), []),
    value: (node) => replace(node, []),
  }
}

function parentsOf({ entries }: TableNode): { readonly name: string; readonly at: Place }[] {
  const node = entries.get('extends')?.value
  if (node === undefined) return []
  const items = node.kind === 'list' ? node.items : [node]
  return items.map((item) => {
    if (item.kind !== 'scalar' || typeof item.value !== 'string')
      throw invalid(item.at, '`extends` takes the name of a job, or a list of names')
    return { name: item.value, at: item.at }
  })
}

/** Returns the fault for a job that does not exist. It names what the file includes from elsewhere, where the job may be. */
function unknownName({ table, missing }: ResolveOptions, name: string, at: Place): Error {
  const close = nearest(
    name,
    [...table.entries].flatMap(([key, { value }]) => (value.kind === 'table' ? [key] : [])),
  )
  return invalid(
    at,
    `the job "${name}" does not exist`,
    hintFor(missing) ?? (close === undefined ? undefined : `Did you mean "${close}"?`),
  )
}

/** Returns what to do if a job may be in a file that a local run does not have. */
export function hintFor(missing: readonly MissingInclude[]): string | undefined {
  const [first] = missing
  if (first === undefined) return undefined
  const more = missing.length > 1 ? `, or in ${missing.length - 1} more files that are not included` : ''
  return `It may be in the include ${first.what} (${first.file}:${first.line})${more}. Copy that file into the repository and include it with \`local\`.`
}
