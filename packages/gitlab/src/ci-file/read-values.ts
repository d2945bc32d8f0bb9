/** Reads values of jobs as texts, lists and fields. Each function throws `document-invalid` with the line. */
import { nearest } from '@windlass/plan/suggest'
import type { KeywordUse } from './keywords.ts'
import { invalid, type CiWarning, type Entry, type Node, type Place, type TableNode } from './node.ts'

/** What a message calls a value, such as `image:name of the job "test"`. */
export type What = string

export function textOf(node: Node, what: What): string {
  if (node.kind === 'scalar' && node.value !== null && typeof node.value !== 'boolean') return String(node.value)
  throw invalid(node.at, `${what} must be a text`)
}

/** Returns the texts of a list. One text is a list of one. */
export function textsOf(node: Node, what: What): string[] {
  if (node.kind === 'list') return node.items.map((item) => textOf(item, what))
  if (node.kind === 'scalar' && node.value === null) return []
  return [textOf(node, what)]
}

export function tableOf(node: Node, what: What): TableNode {
  if (node.kind === 'table') return node
  throw invalid(node.at, `${what} must be a table`)
}

export function booleanOf(node: Node, what: What): boolean {
  if (node.kind === 'scalar' && typeof node.value === 'boolean') return node.value
  throw invalid(node.at, `${what} must be true or false`)
}

export function oneOfTexts<const L extends readonly string[]>(node: Node, what: What, known: L): L[number] {
  const given = textOf(node, what)
  const found = known.find((one) => one === given)
  if (found !== undefined) return found
  throw invalid(node.at, `${what} must be one of ${known.join(', ')}, not "${given}"`)
}

/** Deepest lists in lists of commands, as GitLab allows them for references. */
const MAX_NESTED = 10

/** Returns the commands of a script. Lists in it, which references and aliases make, are part of it. */
export function commandsOf(node: Node, what: What, depth = 0): string[] {
  if (node.kind === 'list') {
    if (depth > MAX_NESTED) throw invalid(node.at, `${what} has lists that are nested more than ${MAX_NESTED} times`)
    return node.items.flatMap((item) => commandsOf(item, what, depth + 1))
  }
  if (node.kind === 'scalar' && typeof node.value === 'string') return [node.value]
  if (node.kind === 'scalar' && node.value === null && depth === 0) return []
  const isTable = node.kind === 'table'
  throw invalid(
    node.at,
    `${what} must be a command, or a list of commands`,
    isTable ? 'Put the command in quotes: it has a colon and a space.' : 'Put the command in quotes.',
  )
}

/** Seconds of the units of a duration, as GitLab writes them. */
const UNITS: readonly (readonly [RegExp, number])[] = [
  [/^(?:s|secs?|seconds?)$/, 1],
  [/^(?:m|mins?|minutes?)$/, 60],
  [/^(?:h|hrs?|hours?)$/, 3_600],
  [/^(?:d|days?)$/, 86_400],
  [/^(?:w|wks?|weeks?)$/, 604_800],
  [/^(?:mo|mons?|mos|months?)$/, 2_592_000],
]

const PART = /(\d+(?:\.\d+)?)\s*([a-z]*)/g
/** Longest text of a duration. Characters. */
const MAX_DURATION = 100

/** Longest time limit of a job, as on a GitLab server: a month. Seconds. */
const MAX_SECONDS = 2_678_400

/** Returns the seconds of a duration: `90 minutes`, `1h 30m`, `3600`. */
export function secondsOf(node: Node, what: What): number {
  const given = textOf(node, what).trim().toLowerCase()
  const wrong = (): Error =>
    invalid(node.at, `${what} is "${given}", which is not a duration`, 'Write it as `90 minutes` or `1h 30m`.')
  const rest = given
    .slice(0, MAX_DURATION)
    .replaceAll(PART, '')
    .replaceAll(/\band\b|[\s,]/g, '')
  if (given === '' || given.length > MAX_DURATION || rest !== '') throw wrong()
  let seconds = 0
  for (const [, count = '', unit = ''] of given.matchAll(PART)) {
    const factor = unit === '' ? 1 : UNITS.find(([name]) => name.test(unit))?.[1]
    if (factor === undefined) throw wrong()
    seconds += Number(count) * factor
  }
  if (seconds < 1 || seconds > MAX_SECONDS) throw invalid(node.at, `${what} must be between 1 second and 1 month`)
  return Math.ceil(seconds)
}

export interface FieldsOptions {
  readonly known: Readonly<Record<string, KeywordUse>>
  /** Name of the keyword and a colon, `image:`; empty for those of a job. */
  readonly prefix: string
  readonly job: string
  readonly warnings: CiWarning[]
}

/** Warns about each field that has no effect, and about unknown ones. Throws for a field with which the job cannot be run. */
export function checkFields(table: TableNode, { known, prefix, job, warnings }: FieldsOptions): void {
  for (const [key, { at, value }] of table.entries) {
    const keyword = Object.hasOwn(known, key) ? known[key] : undefined
    if (keyword === undefined) {
      const close = nearest(key, Object.keys(known))
      const hint = close === undefined ? '' : `; did you mean "${close}"?`
      warnings.push({ ...at, message: `unknown keyword "${prefix}${key}" in the job "${job}" has no effect${hint}` })
    } else if (keyword.use === 'none' && !isNothing(value))
      warnings.push({ ...at, message: `"${prefix}${key}" of the job "${job}" has no effect in a local run: ${keyword.meaning}` })
    else if (keyword.use === 'error') throw invalid(at, `the job "${job}" ${keyword.message}`, keyword.hint)
  }
}

/** True for `needs: []` and `rules: null`, which remove what a parent has. */
function isNothing(node: Node): boolean {
  return node.kind === 'list' ? node.items.length === 0 : node.kind === 'scalar' && node.value === null
}

/** Returns the value of a field; undefined without one, and for null. */
export function fieldOf({ entries }: { readonly entries: ReadonlyMap<string, Entry> }, key: string): Node | undefined {
  const node = entries.get(key)?.value
  return node?.kind === 'scalar' && node.value === null ? undefined : node
}

export function placeOf({ entries, at }: TableNode, key: string): Place {
  return entries.get(key)?.at ?? at
}
