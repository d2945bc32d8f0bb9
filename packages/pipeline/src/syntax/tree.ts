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
  return offsetsInScalar(node, text)(at)
}

/** Returns `offsetInScalar` for many characters of one scalar, which it reads once, at the first call. */
export function offsetsInScalar(node: ScalarNode, text: string): (at: number) => number {
  let offsets: readonly number[] = []
  return (at) => {
    if (offsets.length === 0) offsets = readOffsets(node, text.slice(node.range.start, node.range.end))
    return node.range.start + (offsets[Math.min(at, offsets.length - 1)] ?? 0)
  }
}

/** Returns where each character of the value is in the raw scalar. There is at least one offset; the last one is that of the end. */
function readOffsets(node: ScalarNode, raw: string): number[] {
  switch (node.style) {
    case 'single':
      return walk(raw, (rest) => (rest.startsWith("''") ? 2 : 1))
    case 'double':
      return walk(raw, (rest) => /^\\(?:x..|u.{4}|U.{8}|.)/.exec(rest)?.[0].length ?? 1)
    case 'plain':
    case 'literal':
    case 'folded':
      return skipWords(raw, node)
  }
}

function walk(raw: string, lengthAt: (rest: string) => number): number[] {
  const offsets = [1]
  for (let place = 1; place < raw.length; offsets.push(place)) place += lengthAt(raw.slice(place, place + 10))
  return offsets
}

/** Finds positions by counting non-space characters, because folding changes only white space. */
function skipWords(raw: string, { value, style }: ScalarNode): number[] {
  const newline = raw.indexOf('\n')
  const start = style === 'plain' || newline < 0 ? 0 : newline + 1
  const places: number[] = []
  for (let place = start; place < raw.length; place += 1) if (!/\s/.test(raw[place] ?? '')) places.push(place)
  const end = (places.at(-1) ?? start - 1) + 1
  const offsets: number[] = []
  let words = 0
  for (const char of String(value).split('')) {
    offsets.push(places[words] ?? end)
    if (!/\s/.test(char)) words += 1
  }
  return [...offsets, places[words] ?? end]
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
