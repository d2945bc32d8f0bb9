/** Expands `scale` and `matrix`: one step becomes several, before any of them is checked. */
import { plain } from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { readType } from './read-type.ts'
import type { Report } from '../syntax/report.ts'
import type { Range } from '../syntax/source.ts'
import { stepEntries } from './step-entries.ts'
import { MAX_STEPS } from './step-names.ts'
import { findType } from '../actions/index.ts'
import { UNKNOWN_TYPE } from '../language/type-fields.ts'
import type { Entry, MapNode, TreeNode } from '../syntax/tree.ts'
import { sizeOf, textOf } from '../syntax/tree.ts'
import type { Drafting, DraftName } from './drafting.ts'

/** Limit for one `scale` or `matrix`: more than a build needs, but affordable. */
const MAX_VARIATIONS = 1_000

interface Variation {
  /** Name of the child, or its number in a matrix. */
  readonly key: string
  readonly numbered: boolean
  readonly range: Range
  readonly path: string
  readonly type: string
  readonly entries: Entries
}

export interface Expansion {
  /** Fields of the group itself: stage, title, condition and criteria. */
  readonly group: Entries
  readonly variations: readonly Variation[]
}

interface Place extends DraftName {
  readonly report: Report
  readonly drafting: Drafting
  /** Type of the step itself. */
  readonly type: string
}

export function isExpanded(entries: Entries): boolean {
  return entries.has('scale') || entries.has('matrix')
}

/** Fields that stay with the group; the children inherit all others. */
const OF_GROUP = ['when', 'stage', 'title', 'description', 'success_criteria']

/** A group with its own success criteria also keeps these flags. */
const FLAGS = ['fail_fast', 'strict_fail_fast']

/** Returns the group and the children of a step with `scale` or `matrix`. Reports an invalid one and returns no children. */
export function expand(entries: Entries, place: Place): Expansion {
  const scale = entries.get('scale')
  const matrix = entries.get('matrix')
  const hasCriteria = entries.has('success_criteria')
  const group = new Map([...entries].filter(([key]) => OF_GROUP.includes(key) || (hasCriteria && FLAGS.includes(key))))
  const base = new Map([...entries].filter(([key]) => !OF_GROUP.includes(key) && key !== 'scale' && key !== 'matrix'))
  if (scale !== undefined && matrix !== undefined) {
    place.report.error('conflict', matrix.keyRange, '"matrix" conflict with forbidden peer "scale"', {
      path: `${place.path}.matrix`,
      hint: 'Keep one of them.',
    })
    return { group, variations: [] }
  }
  if (scale !== undefined) return { group, variations: expandScale(scale, base, place) }
  const title = textOf(entries.get('title')?.value) ?? place.key
  return { group, variations: matrix === undefined ? [] : expandMatrix(matrix, base, { ...place, title }) }
}

function expandScale({ key, value }: Entry, base: Entries, place: Place): Variation[] {
  const path = `${place.path}.${key}`
  if (!isFilledMap(value, key, { ...place, path })) return []
  if (!fitsLimits(base, value.entries.size, { ...place, path, range: value.range })) return []
  return [...value.entries.values()].flatMap((child) => {
    const childPath = `${path}.${child.key}`
    const isEmpty = child.value.kind === 'scalar' && child.value.value === null
    if (child.value.kind !== 'map' && !isEmpty) {
      place.report.error('wrong-type', child.value.range, `"${child.key}" must be an object`, { path: childPath })
      return []
    }
    const own: MapNode = child.value.kind === 'map' ? child.value : { kind: 'map', range: child.value.range, entries: new Map() }
    const at = { ...place, path: childPath, range: child.keyRange }
    return { key: child.key, numbered: false, range: child.keyRange, path: childPath, ...mergeFields(base, own, at) }
  })
}

interface Dimension {
  readonly entry: Entry
  readonly values: readonly TreeNode[]
}

function expandMatrix({ key, value }: Entry, base: Entries, place: Place & { readonly title: string }): Variation[] {
  const path = `${place.path}.${key}`
  if (!isFilledMap(value, key, { ...place, path })) return []
  const dimensions = [...value.entries.values()].flatMap((entry) =>
    toDimension(entry, { ...place, path: `${path}.${entry.key}` }),
  )
  if (dimensions.length < value.entries.size) return []
  const count = dimensions.reduce((product, { values }) => product * values.length, 1)
  if (!fitsLimits(base, count, { ...place, path, range: value.range, dimensions })) return []
  return Array.from({ length: count }, (_, index) => {
    const chosen = chooseAt(dimensions, index)
    const own: MapNode = { kind: 'map', range: value.range, entries: new Map(chosen.map((one) => [one.key, one])) }
    const { type, entries } = mergeFields(base, own, place)
    const title = `${place.title} (${chosen.map((one) => `${one.key}=${formatValue(one.value)}`).join(', ')})`
    if (!entries.has('title')) entries.set('title', madeEntry('title', title, place.range))
    return { key: String(index + 1), numbered: true, range: place.range, path: place.path, type, entries }
  })
}

function toDimension(entry: Entry, { report, path }: Place): Dimension[] {
  const { key, value } = entry
  if (value.kind === 'list' && value.items.length > 0)
    return [{ entry, values: key === 'environment' ? value.items.map(toEnvironment) : value.items }]
  if (value.kind === 'list') report.error('empty-value', value.range, `"${key}" must contain at least 1 items`, { path })
  else
    report.error('wrong-type', value.range, `"${key}" must be an array`, {
      path,
      hint: 'Write a list with one value for each step.',
    })
  return []
}

/** An environment of one variable may be written as a text: `environment: [A=1, A=2]`. */
function toEnvironment(value: TreeNode): TreeNode {
  return value.kind === 'scalar' && value.value !== null ? { kind: 'list', range: value.range, items: [value] } : value
}

function madeEntry(key: string, value: string, range: Range): Entry {
  return { key, keyRange: range, value: { kind: 'scalar', range, value, style: 'plain', written: value } }
}

/** Returns the values of one combination; the first property varies slowest. */
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

/** Checks that the copies fit the limits. Children share the text of their parent in the document, but not in the plan. */
function fitsLimits(
  base: Entries,
  count: number,
  { report, path, range, drafting, dimensions = [] }: Place & { readonly dimensions?: readonly Dimension[] },
): boolean {
  if (count > MAX_VARIATIONS) {
    report.error('too-large', range, `this creates ${count} steps; at most ${MAX_VARIATIONS} are allowed`, { path })
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
  const { remaining, size: known } = drafting.names
  if (known + count > MAX_STEPS) {
    report.error('too-large', { start: 0, end: 0 }, `the pipeline has more than ${MAX_STEPS} steps`)
    return false
  }
  if (nodes <= remaining.nodes && chars <= remaining.chars) {
    remaining.nodes -= nodes
    remaining.chars -= chars
    return true
  }
  report.error('too-large', range, `this creates ${count} steps that are too large in total`, {
    path,
    hint: 'Move scripts to files in the repository.',
  })
  return false
}

/** Returns the fields of a child: those of its parent, overridden by its own. */
function mergeFields(
  base: Entries,
  own: MapNode,
  { report, path, drafting, type }: Place,
): { type: string; entries: Map<string, Entry> } {
  const childType = own.entries.has('type')
    ? (readType(own, { report, path, variables: drafting.variables, catalog: drafting.typed.catalog }) ?? UNKNOWN_TYPE)
    : type
  for (const key of ['scale', 'matrix']) {
    const nested = own.entries.get(key)
    if (nested !== undefined)
      report.error('not-allowed', nested.keyRange, `"${key}" is not allowed inside "scale" or "matrix"`, { path })
  }
  const entries = new Map(base)
  for (const entry of stepEntries(own, findType(childType), { report, path }).values()) {
    const before = entries.get(entry.key)?.value
    entries.set(entry.key, before === undefined ? entry : { ...entry, value: mergeValues(entry.key, before, entry.value) })
  }
  return { type: childType, entries }
}

/** Merges a field of a child with its parent's: environments and arguments are merged, everything else is replaced. */
function mergeValues(key: string, parent: TreeNode, own: TreeNode): TreeNode {
  if (key === 'arguments' && parent.kind === 'map' && own.kind === 'map')
    return { ...own, entries: new Map([...parent.entries, ...own.entries]) }
  if (key !== 'environment') return own
  const before = toAssignments(parent)
  const after = toAssignments(own)
  if (before === undefined || after === undefined) return own
  const names = new Set(after.map(nameOf))
  return { kind: 'list', range: own.range, items: [...before.filter((item) => !names.has(nameOf(item))), ...after] }
}

/** Returns the entries of an environment that is a list or a mapping. */
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

/** Returns the variable name; the child's entry replaces an entry of the same name. */
function nameOf(assignment: TreeNode): string | undefined {
  return textOf(assignment)?.split('=', 1)[0]
}

const MAX_TITLE_PART = 60

/** Formats a value for a title: texts as they are, lists mergeValues, long values cut. */
function formatValue(node: TreeNode): string {
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
