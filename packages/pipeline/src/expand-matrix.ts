/** `scale` and `matrix`: one step as several, before any of them is checked (pipeline language 3.5). */
import type { Entries } from './fields.ts'
import type { DraftName } from './draft-steps.ts'
import type { Report } from './report.ts'
import type { Range } from './source.ts'
import type { Entry, ListNode, MapNode, TreeNode } from './tree.ts'
import { sizeOf, textOf, toValue } from './tree.ts'

/** More than any build needs, few enough that no document can ask for too much. */
export const MAX_VARIATIONS = 1_000
/** Of all children together: nodes, and characters of their texts. */
const MAX_NODES = 200_000
const MAX_CHARS = 4_194_304

export interface Variation {
  /** The name of the child, or its number in a matrix. */
  readonly key: string
  readonly numbered: boolean
  readonly range: Range
  readonly path: string
  readonly entries: Entries
}

export interface Expansion {
  /** What the group itself has: where it stands and when it runs. */
  readonly group: Entries
  readonly variations: readonly Variation[]
}

type Place = DraftName & { readonly report: Report }

export function isExpanded(entries: Entries): boolean {
  return entries.has('scale') || entries.has('matrix')
}

/** `when`, `stage` and the title stay with the group; everything else is what the children start from. */
const OF_GROUP = ['when', 'stage', 'title', 'description']

/** The group and the children of a step with `scale` or `matrix`; no children when these are wrong, which is reported. */
export function expand(entries: Entries, place: Place): Expansion {
  const scale = entries.get('scale')
  const matrix = entries.get('matrix')
  const group = new Map([...entries].filter(([key]) => OF_GROUP.includes(key)))
  const base = new Map([...entries].filter(([key]) => !OF_GROUP.includes(key) && key !== 'scale' && key !== 'matrix'))
  if (scale !== undefined && matrix !== undefined) {
    place.report.error('conflict', matrix.keyRange, '"matrix" conflict with forbidden peer "scale"', {
      path: `${place.path}.matrix`,
      hint: 'Keep one of them.',
    })
    return { group, variations: [] }
  }
  if (scale !== undefined) return { group, variations: scaled(scale, base, place) }
  const title = textOf(entries.get('title')?.value) ?? place.key
  return { group, variations: matrix === undefined ? [] : combined(matrix, base, { ...place, title }) }
}

function scaled({ key, value }: Entry, base: Entries, place: Place): Variation[] {
  const path = `${place.path}.${key}`
  if (!isFilledMap(value, key, { ...place, path })) return []
  if (!isAffordable(base, value.entries.size, { ...place, path, range: value.range })) return []
  return [...value.entries.values()].flatMap((child) => {
    const childPath = `${path}.${child.key}`
    if (child.value.kind !== 'map' && !(child.value.kind === 'scalar' && child.value.value === null)) {
      place.report.error('wrong-type', child.value.range, `"${child.key}" must be an object`, { path: childPath })
      return []
    }
    const own = child.value.kind === 'map' ? child.value.entries : new Map<string, Entry>()
    return { key: child.key, numbered: false, range: child.keyRange, path: childPath, entries: merged(base, own.values()) }
  })
}

function combined({ key, value }: Entry, base: Entries, place: Place & { readonly title: string }): Variation[] {
  const path = `${place.path}.${key}`
  if (!isFilledMap(value, key, { ...place, path })) return []
  const dimensions: { entry: Entry; values: readonly TreeNode[] }[] = []
  for (const entry of value.entries.values()) {
    if (entry.value.kind === 'list' && entry.value.items.length > 0) dimensions.push({ entry, values: entry.value.items })
    else if (entry.value.kind === 'list')
      place.report.error('empty-value', entry.value.range, `"${entry.key}" must contain at least 1 items`, {
        path: `${path}.${entry.key}`,
      })
    else
      place.report.error('wrong-type', entry.value.range, `"${entry.key}" must be an array`, {
        path: `${path}.${entry.key}`,
        hint: 'Write one value for each step, as a list.',
      })
  }
  if (dimensions.length < value.entries.size) return []
  const count = dimensions.reduce((product, { values }) => product * values.length, 1)
  if (!isAffordable(base, count, { ...place, path, range: value.range })) return []
  return Array.from({ length: count }, (_, index) => {
    const chosen = chooseAt(dimensions, index)
    const title = `${place.title} (${chosen.map((one) => `${one.key}=${brief(one.value)}`).join(', ')})`
    const entries = merged(base, chosen)
    if (!entries.has('title'))
      entries.set('title', {
        key: 'title',
        keyRange: place.range,
        value: { kind: 'scalar', range: place.range, value: title, style: 'plain', written: title },
      })
    return { key: String(index + 1), numbered: true, range: place.range, path: place.path, entries }
  })
}

/** The values of one combination; the first property varies slowest. */
function chooseAt(dimensions: readonly { entry: Entry; values: readonly TreeNode[] }[], index: number): Entry[] {
  let rest = index
  const chosen: Entry[] = []
  for (const { entry, values } of dimensions.toReversed()) {
    const value = values[rest % values.length]
    rest = Math.floor(rest / values.length)
    if (value !== undefined) chosen.unshift({ ...entry, value })
  }
  return chosen
}

function isFilledMap(value: TreeNode, key: string, { report, path }: Place): value is MapNode {
  if (value.kind !== 'map') report.error('wrong-type', value.range, `"${key}" must be an object`, { path })
  else if (value.entries.size === 0)
    report.error('empty-value', value.range, `"${key}" must contain at least 1 entries`, { path })
  else return true
  return false
}

/** Children share the text of their parent in the document, but not in the plan. */
function isAffordable(base: Entries, count: number, { report, path, range }: Place): boolean {
  if (count > MAX_VARIATIONS) {
    report.error('too-large', range, `this makes ${count} steps; at most ${MAX_VARIATIONS} are allowed`, { path })
    return false
  }
  const size = sizeOf({ kind: 'map', range, entries: base })
  if (size.nodes * count <= MAX_NODES && size.chars * count <= MAX_CHARS) return true
  report.error('too-large', range, `this makes ${count} steps that are too large together`, {
    path,
    hint: 'Move scripts to files of the repository.',
  })
  return false
}

function merged(base: Entries, own: Iterable<Entry>): Map<string, Entry> {
  const entries = new Map(base)
  for (const entry of own) {
    const before = entries.get(entry.key)?.value
    const isBoth = entry.key === 'environment' && before?.kind === 'list' && entry.value.kind === 'list'
    entries.set(entry.key, isBoth ? { ...entry, value: environments(before, entry.value) } : entry)
  }
  return entries
}

/** Both lists of `NAME=VALUE`; on equal names the child's entry stays. */
function environments(parent: TreeNode & { kind: 'list' }, own: TreeNode & { kind: 'list' }): ListNode {
  const nameOf = (node: TreeNode): string | undefined => textOf(node)?.split('=', 1)[0]
  const names = new Set(own.items.map(nameOf))
  return {
    kind: 'list',
    range: own.range,
    items: [...parent.items.filter((item) => !names.has(nameOf(item) ?? '')), ...own.items],
  }
}

/** A value in a title: texts as they are, lists joined, cut when long. */
function brief(node: TreeNode): string {
  const value = toValue(node)
  const text =
    Array.isArray(value) && value.every((item) => typeof item === 'string')
      ? value.join(' ')
      : typeof value === 'string'
        ? value
        : JSON.stringify(value)
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > 60 ? `${line.slice(0, 60)}…` : line
}
