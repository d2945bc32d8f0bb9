/** Checks a node against its shape and reports every problem, in the style `"field" is not allowed`. */
import { nearest } from '@windlass/plan'
import type { Details, Report } from '../syntax/report.ts'
import { didYouMean, nearestValue } from './did-you-mean.ts'
import type { Field, Fields, Shape } from './shape.ts'
import type { Entry, ListNode, MapNode, ScalarNode, TreeNode } from '../syntax/tree.ts'

/** The field that messages and paths name. */
export interface Spot {
  readonly key: string
  readonly path: string
}

const VARIABLE = /^\$\{\{(?:(?!\}\}).)+\}\}$/
const LOOSE_BOOLEAN = /^(?:true|false|yes|no|on|off|0|1)$/i

/** Returns true if the whole text is one `${{NAME}}`. */
export function isVariable(text: string): boolean {
  return VARIABLE.test(text)
}

/** Checks `node` and reports its problems. Returns true if there are none. */
export function check(node: TreeNode, shape: Shape, spot: Spot, report: Report): boolean {
  const before = report.found
  checkShape(node, shape, spot, report)
  return report.found === before
}

function checkShape(node: TreeNode, shape: Shape, spot: Spot, report: Report): void {
  switch (shape.kind) {
    case 'any':
    case 'step':
    case 'own':
      return
    case 'text':
      return checkText(node, shape, spot, report)
    case 'flag':
      return checkFlag(node, spot, report)
    case 'strict-flag':
      return checkStrictFlag(node, spot, report)
    case 'number':
      return checkNumber(node, shape, spot, report)
    case 'word':
      return checkWord(node, shape.words, spot, report)
    case 'plain':
      return node.kind === 'scalar' ? undefined : wrongType(node, 'a string, a number or a boolean', { spot, report })
    case 'list':
      return checkList(node, shape, spot, report)
    case 'map':
      return checkMap(node, shape, spot, report)
    case 'record':
      return checkRecord(node, shape, spot, report)
    case 'either':
      return checkEither(node, shape.of, spot, report)
  }
}

function wrongType(
  node: TreeNode,
  wanted: string,
  { spot, report, hint = '' }: { spot: Spot; report: Report; hint?: string },
): void {
  report.error('wrong-type', node.range, `"${spot.key}" must be ${wanted}${currentValue(node)}`, { path: spot.path, hint })
}

/** Returns `. Current value: x` for messages, or nothing if there is no value to show. */
export function currentValue(node: TreeNode): string {
  if (node.kind !== 'scalar' || node.value === null || node.value === '') return ''
  const text = typeof node.value === 'string' ? node.value : node.written
  const line = text.trim().split('\n', 1)[0] ?? ''
  return `. Current value: ${line.length > 60 || line !== text.trim() ? `${line.slice(0, 60)}…` : line}`
}

function checkText(node: TreeNode, shape: Shape & { kind: 'text' }, spot: Spot, report: Report): void {
  if (node.kind !== 'scalar' || typeof node.value !== 'string') {
    const simple = node.kind === 'scalar' && node.value !== null
    const hint = node.kind === 'map' ? 'Quote a text that contains ": ", because YAML reads it as a mapping.' : ''
    return wrongType(node, 'a string', { spot, report, hint: simple ? `Put it in quotes: "${node.written}".` : hint })
  }
  if (shape.empty !== true && node.value.trim() === '') {
    report.error('empty-value', node.range, `"${spot.key}" is not allowed to be empty`, { path: spot.path })
  }
}

function checkFlag(node: TreeNode, spot: Spot, report: Report): void {
  if (node.kind === 'scalar') {
    const { value } = node
    if (typeof value === 'boolean' || value === 0 || value === 1) return
    if (typeof value === 'string' && (LOOSE_BOOLEAN.test(value) || isVariable(value))) return
  }
  wrongType(node, 'a boolean or one variable', { spot, report, hint: 'Write true, false or "${{NAME}}".' })
}

function checkStrictFlag(node: TreeNode, spot: Spot, report: Report): void {
  if (node.kind === 'scalar' && (typeof node.value === 'boolean' || (typeof node.value === 'string' && isVariable(node.value))))
    return
  wrongType(node, 'a boolean or one variable', { spot, report, hint: 'Write true or false without quotes, or "${{NAME}}".' })
}

/** Returns the number of a scalar, also if it is written as text; undefined for anything else. */
export function numberOf(node: TreeNode | undefined): number | undefined {
  if (node?.kind !== 'scalar' || node.value === null || typeof node.value === 'boolean' || node.value === '') return undefined
  const number = Number(node.value)
  return Number.isFinite(number) ? number : undefined
}

function checkNumber(node: TreeNode, shape: Shape & { kind: 'number' }, spot: Spot, report: Report): void {
  const number = numberOf(node)
  if (number === undefined) return wrongType(node, 'a number', { spot, report })
  if (shape.whole === true && !Number.isInteger(number)) return wrongType(node, 'an integer', { spot, report })
  if (shape.above !== undefined && number <= shape.above) {
    report.error('invalid-value', node.range, `"${spot.key}" must be a positive number${currentValue(node)}`, { path: spot.path })
  }
  if (shape.most !== undefined && number > shape.most) {
    report.error('invalid-value', node.range, `"${spot.key}" must be at most ${shape.most}${currentValue(node)}`, {
      path: spot.path,
    })
  }
  if (shape.least !== undefined && number < shape.least) {
    report.error('invalid-value', node.range, `"${spot.key}" must be at least ${shape.least}${currentValue(node)}`, {
      path: spot.path,
    })
  }
}

function checkWord(node: TreeNode, words: readonly string[], spot: Spot, report: Report): void {
  if (node.kind !== 'scalar' || typeof node.value !== 'string')
    return wrongType(node, `one of [${words.join(', ')}]`, { spot, report })
  const { value } = node
  if (words.includes(value)) return
  const close = report.suggest(value, words, () => nearestValue(value, words))
  const message = `"${spot.key}" must be one of [${words.join(', ')}]${currentValue(node)}${didYouMean(close)}`
  report.error('invalid-value', node.range, message, {
    path: spot.path,
    ...(close !== undefined && { suggestion: { from: value, to: close } }),
  })
}

function checkList(node: TreeNode, shape: Shape & { kind: 'list' }, spot: Spot, report: Report): void {
  if (node.kind !== 'list')
    return wrongType(node, 'an array', { spot, report, ...(shape.hint !== undefined && { hint: shape.hint }) })
  if (node.items.length < (shape.least ?? 0)) return tooFew(node, spot, report)
  for (const [index, item] of node.items.entries())
    checkShape(item, shape.of, { key: `${spot.key}[${index}]`, path: `${spot.path}[${index}]` }, report)
}

function tooFew(node: ListNode | MapNode, spot: Spot, report: Report): void {
  report.error('empty-value', node.range, `"${spot.key}" must contain at least 1 ${node.kind === 'list' ? 'items' : 'entries'}`, {
    path: spot.path,
  })
}

function checkMap(node: TreeNode, shape: Shape & { kind: 'map' }, spot: Spot, report: Report): void {
  if (node.kind !== 'map') return wrongType(node, 'an object', { spot, report })
  if (node.entries.size < (shape.least ?? 0)) return tooFew(node, spot, report)
  for (const entry of node.entries.values()) {
    const path = `${spot.path}.${entry.key}`
    if (shape.keys !== undefined && !shape.keys.pattern.test(entry.key)) {
      report.error('invalid-value', entry.keyRange, `"${entry.key}" can only contain ${shape.keys.about}`, { path })
    }
    checkShape(entry.value, shape.of, { key: entry.key, path }, report)
  }
}

function checkRecord(node: TreeNode, shape: Shape & { kind: 'record' }, spot: Spot, report: Report): void {
  if (node.kind !== 'map') return wrongType(node, 'an object', { spot, report })
  checkFields(node.entries, shape.fields, { spot, report, open: shape.open === true, range: node.range })
}

export interface FieldsPlace {
  readonly spot: Spot
  readonly report: Report
  /** True accepts unknown keys. */
  readonly open: boolean
  /** Where a missing field is reported. */
  readonly range: { readonly start: number; readonly end: number }
}

/** Checks the entries of a record: unknown keys, each field, and required fields. */
export function checkFields(
  entries: ReadonlyMap<string, Entry>,
  fields: Fields,
  { spot, report, open, range }: FieldsPlace,
): void {
  for (const entry of entries.values()) {
    const path = spot.path === '' ? entry.key : `${spot.path}.${entry.key}`
    const field = Object.hasOwn(fields, entry.key) ? fields[entry.key] : undefined
    if (field === undefined) {
      if (!open) reportUnknown(entry, fields, path, report)
    } else checkShape(entry.value, field.shape, { key: entry.key, path }, report)
  }
  for (const [key, field] of requiredOf(fields)) {
    if (entries.has(key)) continue
    report.error('required', range, `"${key}" is required`, {
      path: spot.path === '' ? key : `${spot.path}.${key}`,
      hint: field.about,
    })
  }
}

/** Returns the field of a table that a misspelled one probably means. */
export function suggestField(wrong: string, fields: Fields, report: Report): string | undefined {
  return report.suggest(wrong, fields, () => nearest(wrong, Object.keys(fields)))
}

const REQUIRED = new WeakMap<Fields, readonly [string, Field][]>()

/** Returns the required fields, computed once for each table. */
function requiredOf(fields: Fields): readonly [string, Field][] {
  const known = REQUIRED.get(fields)
  if (known !== undefined) return known
  const required = Object.entries(fields).filter(([, field]) => field.required === true)
  REQUIRED.set(fields, required)
  return required
}

function reportUnknown(entry: Entry, fields: Fields, path: string, report: Report): void {
  const close = suggestField(entry.key, fields, report)
  const details: Details = { path, ...(close !== undefined && { suggestion: { from: entry.key, to: close } }) }
  report.error('unknown-key', entry.keyRange, `"${entry.key}" is not allowed${didYouMean(close)}`, details)
}

function checkEither(node: TreeNode, shapes: readonly Shape[], spot: Spot, report: Report): void {
  const fitting = shapes.find((shape) => fits(node, shape))
  if (fitting !== undefined) return checkShape(node, fitting, spot, report)
  wrongType(node, [...new Set(shapes.map(nameOf))].join(' or '), { spot, report })
}

/** Returns true if the node has the kind that the shape expects; texts and enums expect a string. */
function fits(node: TreeNode, shape: Shape): boolean {
  if (kindOf(shape) !== node.kind) return false
  const wantsText = shape.kind === 'text' || shape.kind === 'word'
  return node.kind !== 'scalar' || !wantsText || typeof node.value === 'string'
}

function nameOf(shape: Shape): string {
  if (shape.kind === 'flag' || shape.kind === 'strict-flag') return 'a boolean'
  return shape.kind === 'number' ? 'a number' : NAMES[kindOf(shape)]
}

const NAMES = { scalar: 'a string', list: 'an array', map: 'an object' } as const satisfies Record<TreeNode['kind'], string>

function kindOf(shape: Shape): ScalarNode['kind'] | ListNode['kind'] | MapNode['kind'] {
  if (shape.kind === 'list') return 'list'
  return shape.kind === 'map' || shape.kind === 'record' ? 'map' : 'scalar'
}
