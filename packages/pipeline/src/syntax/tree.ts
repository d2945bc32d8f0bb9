/** The document as a tree of nodes with positions. Anchors, aliases and merge keys are resolved; aliased nodes are shared. */
import type { Range } from './source.ts'

export type TreeNode = MapNode | ListNode | ScalarNode

export interface MapNode {
  readonly kind: 'map'
  readonly range: Range
  /** In document order; merged entries come after the map's own. */
  readonly entries: ReadonlyMap<string, Entry>
}

export interface Entry {
  readonly key: string
  readonly keyRange: Range
  readonly value: TreeNode
}

export interface ListNode {
  readonly kind: 'list'
  readonly range: Range
  readonly items: readonly TreeNode[]
}

export type ScalarStyle = 'plain' | 'single' | 'double' | 'literal' | 'folded'

export interface ScalarNode {
  readonly kind: 'scalar'
  readonly range: Range
  readonly value: string | number | boolean | null
  readonly style: ScalarStyle
  /** Source text, for messages about numbers and booleans. */
  readonly written: string
}

/** Converts a node to plain data, with objects that have no prototype. */
export function toValue(node: TreeNode): unknown {
  if (node.kind === 'scalar') return node.value
  if (node.kind === 'list') return node.items.map(toValue)
  const object: Record<string, unknown> = Object.create(null)
  for (const { key, value } of node.entries.values()) object[key] = toValue(value)
  return object
}

/** Returns the value under `key` if the node is a map that contains it. */
export function child(node: TreeNode | undefined, key: string): TreeNode | undefined {
  return node?.kind === 'map' ? node.entries.get(key)?.value : undefined
}

/** Returns the text of a string node, otherwise undefined. */
export function textOf(node: TreeNode | undefined): string | undefined {
  return node?.kind === 'scalar' && typeof node.value === 'string' ? node.value : undefined
}

/** Returns the offset in the document of a character of a scalar's value, taking folding and escapes into account. */
export function offsetInScalar(node: ScalarNode, text: string, at: number): number {
  const raw = text.slice(node.range.start, node.range.end)
  switch (node.style) {
    case 'single':
      return node.range.start + walk(raw, 1, at, (rest) => (rest.startsWith("''") ? 2 : 1))
    case 'double':
      return node.range.start + walk(raw, 1, at, (rest) => /^\\(?:x..|u.{4}|U.{8}|.)/.exec(rest)?.[0].length ?? 1)
    case 'plain':
    case 'literal':
    case 'folded':
      return node.range.start + skipWords(raw, node, at)
  }
}

function walk(raw: string, from: number, count: number, lengthAt: (rest: string) => number): number {
  let place = from
  for (let done = 0; done < count && place < raw.length; done += 1) place += lengthAt(raw.slice(place, place + 10))
  return place
}

/** Finds a position by counting non-space characters, because folding changes only white space. */
function skipWords(raw: string, node: ScalarNode, at: number): number {
  const value = String(node.value)
  let wanted = value.slice(0, at).replace(/\s/g, '').length
  const newline = raw.indexOf('\n')
  let last = node.style === 'plain' || newline < 0 ? 0 : newline + 1
  for (let place = last; place < raw.length; place += 1) {
    if (/\s/.test(raw[place] ?? '')) continue
    if (wanted === 0) return place
    wanted -= 1
    last = place + 1
  }
  return last
}

interface TreeSize {
  readonly nodes: number
  readonly depth: number
  /** Characters of all texts and keys. */
  readonly chars: number
}

const SIZES = new WeakMap<TreeNode, TreeSize>()

/** Returns the size of a tree after aliases are expanded. Cheap, because trees cache their size. */
export function sizeOf(node: TreeNode): TreeSize {
  if (node.kind === 'scalar') return { nodes: 1, depth: 1, chars: typeof node.value === 'string' ? node.value.length : 0 }
  const known = SIZES.get(node)
  if (known !== undefined) return known
  let nodes = 1
  let depth = 0
  let chars = node.kind === 'map' ? node.entries.keys().reduce((sum, key) => sum + key.length, 0) : 0
  for (const inside of node.kind === 'list' ? node.items : [...node.entries.values()].map(({ value }) => value)) {
    const size = sizeOf(inside)
    nodes += size.nodes
    chars += size.chars
    depth = Math.max(depth, size.depth)
  }
  const size = { nodes, depth: depth + 1, chars }
  SIZES.set(node, size)
  return size
}
