/**
 * What is made from a chart's `values.yaml`: the table of its README.md, and `values.schema.json`. A comment `# -- text` documents the key below
 * it; a documented map is handed on whole, so that its keys are free.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { OPEN_KEYS, RULES, STRICT, type Schema } from './rules.ts'

const root = join(import.meta.dirname, '../..')
export const CHARTS = ['windlass', 'windlass-runtime'] as const
const BEGIN = '<!-- values: made from values.yaml -->'
const END = '<!-- end of values -->'

export interface MadeFile {
  /** From the root of the project. */
  readonly path: string
  readonly text: string
}

/** The files of all charts that are made from their values. */
export function chartFiles(): MadeFile[] {
  return CHARTS.flatMap((chart) => {
    const source = readFileSync(join(root, 'charts', chart, 'values.yaml'), 'utf8')
    const page = `charts/${chart}/README.md`
    const schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...schemaOf(chart, source) }
    return [
      { path: page, text: withTable(readFileSync(join(root, page), 'utf8'), source) },
      { path: `charts/${chart}/values.schema.json`, text: `${JSON.stringify(schema, null, 2)}\n` },
    ]
  })
}

/** The README with its table of values renewed. Throws when it has no place for one. */
function withTable(page: string, source: string): string {
  const [before, rest] = page.split(BEGIN)
  const after = rest?.split(END)[1]
  if (before === undefined || after === undefined) throw new Error(`README.md lacks ${BEGIN} and ${END}`)
  const rows = documentedKeys(source).map(({ path, text }) => {
    const cell = JSON.stringify(valueAt(parse(source), path)) ?? ''
    return `| \`${path.join('.')}\` | ${text.replaceAll('|', '\\|')} | ${cell === '""' || cell === '{}' || cell === '[]' || cell === 'null' ? '' : `\`${cell.replaceAll('|', '\\|')}\``} |`
  })
  return [`${before}${BEGIN}`, '| key | meaning | default |', '|---|---|---|', ...rows, `${END}${after}`].join('\n')
}

interface DocumentedKey {
  readonly path: readonly string[]
  readonly text: string
}

/** Keys with a comment, in the order of the file. Relies on what the file keeps to: two spaces per level, one key per line. */
export function documentedKeys(source: string): DocumentedKey[] {
  const found: DocumentedKey[] = []
  const path: string[] = []
  let text: string | undefined
  for (const line of source.split('\n')) {
    const comment = /^\s*# -- (.*)$/.exec(line)?.[1]
    if (comment !== undefined) {
      text = comment
      continue
    }
    const [, indent = '', key] = /^(\s*)([A-Za-z][\w-]*):/.exec(line) ?? []
    if (key === undefined) continue
    path.splice(indent.length / 2, Infinity, key)
    if (text !== undefined) found.push({ path: [...path], text })
    text = undefined
  }
  return found
}

function valueAt(value: unknown, path: readonly string[]): unknown {
  return path.reduce((part, key) => (isRecord(part) ? part[key] : undefined), value)
}

/** The schema of a chart's values: types from the defaults, the rest from the rules. */
export function schemaOf(chart: (typeof CHARTS)[number], source: string): Schema {
  const keys = documentedKeys(source)
  const free = new Set(keys.map(({ path }) => path.join('.')))
  const texts = new Map(keys.map(({ path, text }) => [path.join('.'), text]))

  function typeOf(value: unknown, path: string): Schema {
    const rule = RULES[path]
    if (rule !== undefined) return rule
    if (path.endsWith('KeyRef')) return KEY_REFERENCE
    if (value === null) return {}
    if (Array.isArray(value)) return { type: ['array', 'null'] }
    if (isRecord(value)) return free.has(path) ? { type: ['object', 'null'] } : structure(value, path)
    if (typeof value === 'string') return { type: ['string', 'null'] }
    return { type: Number.isInteger(value) ? 'integer' : typeof value }
  }

  function structure(value: Readonly<Record<string, unknown>>, path: string): Schema {
    const properties: Record<string, Schema> = {}
    for (const [key, part] of Object.entries(value)) {
      const at = path === '' ? key : `${path}.${key}`
      const description = texts.get(at)
      properties[key] = { ...(description !== undefined && { description }), ...typeOf(part, at) }
    }
    for (const key of OPEN_KEYS[`${chart}:${path}`] ?? []) properties[key] ??= {}
    return { type: 'object', ...(STRICT.has(path) && { additionalProperties: false }), properties }
  }

  return structure(recordOf(parse(source)), '')
}

const KEY_REFERENCE: Schema = {
  type: ['object', 'null'],
  additionalProperties: false,
  properties: { name: { type: 'string', minLength: 1 }, key: { type: 'string', minLength: 1 }, optional: { type: 'boolean' } },
  dependencies: { name: ['key'], key: ['name'] },
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  if (!isRecord(value)) throw new Error('values.yaml is no mapping')
  return value
}

function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
