/**
 * What is made for charts: from `values.yaml` the table of README.md and `values.schema.json`, and the rules of a Role. A comment `# -- text` documents the key below
 * it; a documented map is handed on whole, so that its keys are free.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'yaml'
import { OPEN_CHARTS, OPEN_KEYS, RULES, STRICT, type Schema } from './rules.ts'

const root = join(import.meta.dirname, '../..')
export const CHARTS = ['windlass', 'windlass-runtime', 'windlass-gitlab-runner', 'windlass-gitops-runtime'] as const
const BEGIN = '<!-- values: made from values.yaml -->'
const END = '<!-- end of values -->'

export interface MadeFile {
  /** From the root of the project. */
  readonly path: string
  readonly text: string
}

/** The files of all charts that are made from their values. */
export function chartFiles(): MadeFile[] {
  const files = CHARTS.flatMap((chart) => {
    const source = readFileSync(join(root, 'charts', chart, 'values.yaml'), 'utf8')
    const page = `charts/${chart}/README.md`
    const schema = { $schema: 'http://json-schema.org/draft-07/schema#', ...schemaOf(chart, source) }
    return [
      { path: page, text: withTable(readFileSync(join(root, page), 'utf8'), source) },
      { path: `charts/${chart}/values.schema.json`, text: `${JSON.stringify(schema, null, 2)}\n` },
    ]
  })
  const rules = rulesTemplates()
  return [
    ...files,
    { path: `${RUNNER_TEMPLATES}/_rules.tpl`, text: rules },
    { path: 'charts/windlass-runtime/templates/gitlab/_shared.tpl', text: sharedTemplates(rules) },
    {
      path: 'charts/windlass-gitops-runtime/templates/_rules.tpl',
      text:
        rulesTemplate('gitops.appProxyRules', APP_PROXY_ROLE, readRole(APP_PROXY_ROLE)) +
        rulesTemplate('gitops.reporterRules', REPORTER_ROLE, readRole(REPORTER_ROLE)),
    },
    {
      path: 'charts/windlass-gitops-runtime/templates/_workflow-rules.tpl',
      text: rulesTemplate('gitops.workflowRules', WORKFLOWS_ROLE, readRole(WORKFLOWS_ROLE)),
    },
    {
      path: 'charts/windlass-runtime/templates/app-proxy/_rules.tpl',
      text: rulesTemplate('windlass.appProxyRules', APP_PROXY_ROLE, readRole(APP_PROXY_ROLE).filter(isWithoutArgo)),
    },
  ]
}

const RUNNER_TEMPLATES = 'charts/windlass-gitlab-runner/templates'
/** Templates of a manager that the chart of an agent has as well. */
const SHARED = ['_names.tpl', '_manager.tpl', '_sessions.tpl', '_rbac.tpl', '_drain.tpl'] as const

function sharedTemplates(rules: string): string {
  const note = `{{- /* Copied by \`npm run gen\` from ${RUNNER_TEMPLATES}. */ -}}\n`
  return [note, ...SHARED.map((name) => readFileSync(join(root, RUNNER_TEMPLATES, name), 'utf8')), rules].join('')
}

/** The rights of a manager of GitLab runners, for installations without the chart, by the name of their template. */
const ROLES = {
  rules: 'packages/gitlab/rbac/role.yaml',
  namespaceRules: 'packages/gitlab/rbac/namespace-per-job.yaml',
} as const

function rulesTemplates(): string {
  return Object.entries(ROLES)
    .map(([name, path]) => rulesTemplate(`gitlab-runner.${name}`, path, readRole(path)))
    .join('')
}

const APP_PROXY_ROLE = 'packages/app-proxy/rbac/role.yaml'
const REPORTER_ROLE = 'packages/reporter/rbac/role.yaml'
const WORKFLOWS_ROLE = 'packages/app-proxy/rbac/workflows-role.yaml'

/** True for rules that the app-proxy of a Runner needs: it has no Argo CD. */
function isWithoutArgo({ apiGroups }: Rule): boolean {
  return !apiGroups.includes('argoproj.io')
}

interface Rule {
  readonly apiGroups: readonly string[]
  readonly resources: readonly string[]
  readonly verbs: readonly string[]
}

/** Returns the rules of a Role. */
function readRole(path: string): readonly Rule[] {
  const role = recordOf(parse(readFileSync(join(root, path), 'utf8')))
  // The file is ours.
  return role['rules'] as readonly Rule[]
}

/** Returns the rules of a file as a template of Helm. */
export function rulesTemplate(name: string, path: string, rules: readonly Rule[]): string {
  const list = (words: readonly string[]): string => `[${words.map((word) => JSON.stringify(word)).join(', ')}]`
  const lines = rules.flatMap(({ apiGroups, resources, verbs }) => [
    `- apiGroups: ${list(apiGroups)}`,
    `  resources: ${list(resources)}`,
    `  verbs: ${list(verbs)}`,
  ])
  const note = `{{- /* Written by \`npm run gen\` from ${path}. */ -}}`
  return `${[note, `{{- define "${name}" -}}`, ...lines, '{{- end -}}'].join('\n')}\n`
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
  const isOpen = OPEN_CHARTS.has(chart)
  const texts = new Map(keys.map(({ path, text }) => [path.join('.'), text]))

  function typeOf(value: unknown, path: string): Schema {
    const rule = RULES[`${chart}:${path}`] ?? (isOpen ? undefined : RULES[path])
    if (rule !== undefined) return rule
    if (path.endsWith('KeyRef')) return KEY_REFERENCE
    if (value === null) return {}
    if (Array.isArray(value)) return { type: ['array', 'null'] }
    if (isRecord(value)) return free.has(path) ? { type: ['object', 'null'] } : structure(value, path)
    if (typeof value === 'string') return { type: ['string', 'null'] }
    const type = Number.isInteger(value) ? 'integer' : typeof value
    // The other chart converts texts, and takes null for a default.
    return { type: isOpen ? [type, 'string', 'null'] : type }
  }

  function structure(value: Readonly<Record<string, unknown>>, path: string): Schema {
    const properties: Record<string, Schema> = {}
    for (const [key, part] of Object.entries(value)) {
      const at = path === '' ? key : `${path}.${key}`
      const description = texts.get(at)
      properties[key] = { ...(description !== undefined && { description }), ...typeOf(part, at) }
    }
    for (const key of OPEN_KEYS[`${chart}:${path}`] ?? []) properties[key] ??= {}
    return {
      type: isOpen && path !== '' ? ['object', 'null'] : 'object',
      ...(!isOpen && STRICT.has(path) && { additionalProperties: false }),
      properties,
    }
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
