/** `scale` and `matrix`: one step as several, before any of them is checked (pipeline language 3.5). */
import type { DraftName } from './draft-steps.ts'
import { plain } from './fields.ts'
import type { Entries } from './fields.ts'
import { readType } from './read-type.ts'
import type { Report } from './report.ts'
import type { Range } from './source.ts'
import type { Drafting } from './step-draft.ts'
import { stepEntries } from './step-entries.ts'
import { MAX_STEPS } from './step-names.ts'
import { findType, UNKNOWN_TYPE } from './type-fields.ts'
import type { Entry, MapNode, TreeNode } from './tree.ts'
import { sizeOf, textOf } from './tree.ts'

/** More than any build needs, few enough that no document can ask for too much. */
const MAX_VARIATIONS = 1_000

interface Variation {
  /** The name of the child, or its number in a matrix. */
  readonly key: string
  readonly numbered: boolean
  readonly range: Range
  readonly path: string
  readonly type: string
  readonly entries: Entries
}

export interface Expansion {
  /** What the group itself has: where it stands and when it runs. */
  readonly group: Entries
  readonly variations: readonly Variation[]
}

interface Place extends DraftName {
  readonly report: Report
  readonly drafting: Drafting
  /** Of the step itself. */
  readonly type: string
}

export function isExpanded(entries: Entries): boolean {
  return entries.has('scale') || entries.has('matrix')
}

/** `when`, `stage`, the title and the criteria stay with the group; everything else is what the children start from. */
const OF_GROUP = ['when', 'stage', 'title', 'description', 'success_criteria']

/** With criteria the group is judged by itself, so that it says what its failure means. */
const FLAGS = ['fail_fast', 'strict_fail_fast']

/** The group and the children of a step with `scale` or `matrix`; no children when these are wrong, which is reported. */
export function expand(entries: Entries, place: Place): Expansion {
  const scale = entries.get('scale')
  const matrix = entries.get('matrix')
  const judges = entries.has('success_criteria')
  const group = new Map([...entries].filter(([key]) => OF_GROUP.includes(key) || (judges && FLAGS.includes(key))))
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
    const isEmpty = child.value.kind === 'scalar' && child.value.value === null
    if (child.value.kind !== 'map' && !isEmpty) {
      place.report.error('wrong-type', child.value.range, `"${child.key}" must be an object`, { path: childPath })
      return []
    }
    const own: MapNode = child.value.kind === 'map' ? child.value : { kind: 'map', range: child.value.range, entries: new Map() }
    const at = { ...place, path: childPath, range: child.keyRange }
    return { key: child.key, numbered: false, range: child.keyRange, path: childPath, ...varied(base, own, at) }
  })
}

interface Dimension {
  readonly entry: Entry
  readonly values: readonly TreeNode[]
}

function combined({ key, value }: Entry, base: Entries, place: Place & { readonly title: string }): Variation[] {
  const path = `${place.path}.${key}`
  if (!isFilledMap(value, key, { ...place, path })) return []
  const dimensions = [...value.entries.values()].flatMap((entry) =>
    toDimension(entry, { ...place, path: `${path}.${entry.key}` }),
  )
  if (dimensions.length < value.entries.size) return []
  const count = dimensions.reduce((product, { values }) => product * values.length, 1)
  if (!isAffordable(base, count, { ...place, path, range: value.range, dimensions })) return []
  return Array.from({ length: count }, (_, index) => {
    const chosen = chooseAt(dimensions, index)
    const own: MapNode = { kind: 'map', range: value.range, entries: new Map(chosen.map((one) => [one.key, one])) }
    const { type, entries } = varied(base, own, place)
    const title = `${place.title} (${chosen.map((one) => `${one.key}=${brief(one.value)}`).join(', ')})`
    if (!entries.has('title')) entries.set('title', madeEntry('title', title, place.range))
    return { key: String(index + 1), numbered: true, range: place.range, path: place.path, type, entries }
  })
}

function toDimension(entry: Entry, { report, path }: Place): Dimension[] {
  const { key, value } = entry
  if (value.kind === 'list' && value.items.length > 0) return [{ entry, values: value.items }]
  if (value.kind === 'list') report.error('empty-value', value.range, `"${key}" must contain at least 1 items`, { path })
  else
    report.error('wrong-type', value.range, `"${key}" must be an array`, {
      path,
      hint: 'Write one value for each step, as a list.',
    })
  return []
}

function madeEntry(key: string, value: string, range: Range): Entry {
  return { key, keyRange: range, value: { kind: 'scalar', range, value, style: 'plain', written: value } }
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
function isAffordable(
  base: Entries,
  count: number,
  { report, path, range, drafting, dimensions = [] }: Place & { readonly dimensions?: readonly Dimension[] },
): boolean {
  if (count > MAX_VARIATIONS) {
    report.error('too-large', range, `this makes ${count} steps; at most ${MAX_VARIATIONS} are allowed`, { path })
    return false
  }
  const size = sizeOf({ kind: 'map', range, entries: base })
  let nodes = size.nodes * count
  let chars = size.chars * count
  for (const { entry, values } of dimensions) {
    const own = sizeOf(entry.value)
    nodes += (own.nodes * count) / values.length
    chars += (own.chars * count) / values.length
  }
  const { room, size: known } = drafting.names
  if (known + count > MAX_STEPS) {
    report.error('too-large', { start: 0, end: 0 }, `the pipeline has more than ${MAX_STEPS} steps`)
    return false
  }
  if (nodes <= room.nodes && chars <= room.chars) {
    room.nodes -= nodes
    room.chars -= chars
    return true
  }
  report.error('too-large', range, `this makes ${count} steps that are too large together`, {
    path,
    hint: 'Move scripts to files of the repository.',
  })
  return false
}

/** The fields of a child: those of its parent with its own over them. */
function varied(
  base: Entries,
  own: MapNode,
  { report, path, drafting, type }: Place,
): { type: string; entries: Map<string, Entry> } {
  const childType = own.entries.has('type')
    ? (readType(own, { report, path, variables: drafting.variables }) ?? UNKNOWN_TYPE)
    : type
  for (const key of ['scale', 'matrix']) {
    const nested = own.entries.get(key)
    if (nested !== undefined)
      report.error('not-allowed', nested.keyRange, `"${key}" is not allowed inside "scale" or "matrix"`, { path })
  }
  const entries = new Map(base)
  for (const entry of stepEntries(own, findType(childType), { report, path }).values()) {
    const before = entries.get(entry.key)?.value
    entries.set(entry.key, before === undefined ? entry : { ...entry, value: joined(entry.key, before, entry.value) })
  }
  return { type: childType, entries }
}

/** What a child has where its parent has something too: environments and arguments are put together, anything else is replaced. */
function joined(key: string, parent: TreeNode, own: TreeNode): TreeNode {
  if (key === 'arguments' && parent.kind === 'map' && own.kind === 'map')
    return { ...own, entries: new Map([...parent.entries, ...own.entries]) }
  if (key !== 'environment') return own
  const before = toAssignments(parent)
  const after = toAssignments(own)
  if (before === undefined || after === undefined) return own
  const names = new Set(after.map(nameOf))
  return { kind: 'list', range: own.range, items: [...before.filter((item) => !names.has(nameOf(item))), ...after] }
}

/** The entries of an environment that is a list or a mapping. */
function toAssignments(node: TreeNode): readonly TreeNode[] | undefined {
  if (node.kind === 'list') return node.items
  if (node.kind === 'scalar') return undefined
  return [...node.entries.values()].map(({ key, value }) => ({
    kind: 'scalar',
    range: value.range,
    value: `${key}=${plain(value) ?? ''}`,
    style: 'plain',
    written: '',
  }))
}

/** On equal names the child's entry stays. */
function nameOf(assignment: TreeNode): string | undefined {
  return textOf(assignment)?.split('=', 1)[0]
}

const MAX_TITLE_PART = 60

/** A value in a title: texts as they are, lists joined, cut when long. */
function brief(node: TreeNode): string {
  let text = ''
  const add = (one: TreeNode): void => {
    if (text.length > MAX_TITLE_PART) return
    if (one.kind === 'scalar') text += ` ${(plain(one) ?? '').slice(0, MAX_TITLE_PART + 1)}`
    else if (one.kind === 'list') for (const item of one.items.slice(0, MAX_TITLE_PART)) add(item)
    else
      for (const { key, value } of one.entries.values()) {
        text += ` ${key.slice(0, MAX_TITLE_PART)}:`
        add(value)
      }
  }
  add(node)
  const line = text.replace(/\s+/g, ' ').trim()
  return line.length > MAX_TITLE_PART ? `${line.slice(0, MAX_TITLE_PART)}…` : line
}
