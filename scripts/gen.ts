/**
 * Writes the reference pages from the code that they describe; `--check` only compares and exits 1 when a page is stale.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { AgentConfig } from '../packages/agent/src/config.ts'
import { describeCommands } from '../packages/cli/src/index.ts'
import { EngineConfig } from '../packages/engine/src/config.ts'
import { faults, nodeTransport, type FaultSpec } from '../packages/kit/src/index.ts'
import { describeLanguage, jsonSchema, type FieldDescription } from '../packages/pipeline/src/index.ts'
import { MonitorConfig } from '../packages/monitor/src/config.ts'
import { BUILD_STATUSES, REASONS, STEP_STATUSES } from '../packages/plan/src/index.ts'
import { createClient, RuntimeInput } from '../packages/protocol/src/index.ts'
import { ServerConfig, startServer } from '../packages/server/src/index.ts'
import { CleanerConfig } from '../packages/volumes/src/cleaner/config.ts'
import { LocalMonitorConfig } from '../packages/volumes/src/local-monitor/config.ts'
import { ProvisionerConfig } from '../packages/volumes/src/provisioner/config.ts'
import { featurePage } from './features.ts'
import { chartFiles } from './helm/pages.ts'

const root = resolve(import.meta.dirname, '..')
const NOTE = '<!-- Written by `npm run gen`; edit the source it names instead. -->'

/** A Markdown table; `|` in cells is escaped. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string => `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), `|${head.map(() => '---').join('|')}|`, ...rows.map(line)].join('\n')
}

function faultPage(): string {
  const rows = Object.entries<FaultSpec>(faults).map(([code, spec]) => [
    `\`${code}\``,
    String(spec.status),
    spec.text,
    spec.hint,
    spec.retry === true ? 'yes' : '',
  ])
  return `${NOTE}\n# Error codes\n\nSource: packages/kit/src/faults.ts. The API answers them as \`application/problem+json\` with \`code\`, \`detail\` and \`hint\`.\n\n${table(['code', 'HTTP', 'meaning', 'what to do', 'try again'], rows)}\n`
}

function statePage(): string {
  const rows = Object.entries(REASONS).map(([reason, { blame, text }]) => [`\`${reason}\``, blame, text])
  const list = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(' · ')
  return `${NOTE}
# States and reasons

Source: packages/plan/src/lists.ts.

Builds: ${list(BUILD_STATUSES)}

Steps: ${list(STEP_STATUSES)}

A reason says why a build waits or how it ended. \`user\`: the pipeline or its code; \`infra\`: the cluster or Windlass, tried again by itself;
\`control\`: somebody or something decided it; \`waiting\`: what the build waits for.

${table(['reason', 'kind', 'meaning'], rows)}
`
}

const CONFIGURED = [
  { title: 'Server', prefix: 'WINDLASS_SERVER_', schema: ServerConfig },
  { title: 'Agent', prefix: 'WINDLASS_AGENT_', schema: AgentConfig },
  { title: 'Engine', prefix: 'WINDLASS_ENGINE_', schema: EngineConfig },
  { title: 'Volume provisioner', prefix: 'WINDLASS_PROVISIONER_', schema: ProvisionerConfig },
  { title: 'Local volume monitor', prefix: 'WINDLASS_LOCAL_MONITOR_', schema: LocalMonitorConfig },
  { title: 'Volume cleaner', prefix: 'WINDLASS_CLEANER_', schema: CleanerConfig },
  { title: 'Cluster monitor', prefix: 'WINDLASS_MONITOR_', schema: MonitorConfig },
]

function configurationPage(): string {
  const parts = CONFIGURED.map(({ title, prefix, schema }) => {
    const { properties = {}, required = [] } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
    const rows = Object.entries(properties).map(([key, field]) => {
      const { description = '', default: standard } = typeof field === 'boolean' ? {} : field
      const fallback = standard === undefined ? (required.includes(key) ? 'required' : '') : `\`${JSON.stringify(standard)}\``
      return [`\`${prefix}${key}\``, description, fallback]
    })
    return `## ${title}\n\n${table(['variable', 'meaning', 'default'], rows)}\n`
  })
  return `${NOTE}\n# Configuration\n\nEvery setting may also come from a file: \`X_FILE\` names one that holds the value of \`X\`.\n\n${parts.join('\n')}`
}

function fieldRows(fields: readonly FieldDescription[], path = ''): string[][] {
  return fields.flatMap((field) => {
    const marks = [field.required ? 'required' : '', ...field.aliases.map((alias) => `also \`${alias}\``)]
    const about = [field.about, ...marks.filter((mark) => mark !== '')].join(' · ')
    return [[`\`${path}${field.name}\``, field.type, about], ...fieldRows(field.fields, `${path}${field.name}.`)]
  })
}

function languagePage(): string {
  const language = describeLanguage()
  const fields = (title: string, list: readonly FieldDescription[]): string =>
    `## ${title}\n\n${table(['field', 'type', 'meaning'], fieldRows(list))}\n`
  const types = language.types.map(
    ({ name, about, open, fields: list }) =>
      `${fields(`Step type \`${name}\``, list)}\n${about}${open ? ' Unknown fields are allowed, with a warning.' : ''}\n`,
  )
  const functions = language.functions.map(({ name, parameters, about }) => [`\`${name}(${parameters.join(', ')})\``, about])
  return [
    `${NOTE}\n# Pipeline language\n\nSource: the tables that validation reads, packages/pipeline/src/language.ts.\n`,
    fields('Document', language.root),
    fields('Every step', language.common),
    ...types,
    `## Types that are not run\n\n${table(
      ['type', 'use instead'],
      Object.entries(language.refusedTypes).map(([name, instead]) => [`\`${name}\``, instead]),
    )}\n`,
    fields('Pipeline document (`kind: pipeline`)', language.pipeline),
    fields('Its `metadata`', language.metadata),
    fields('Its `spec`', language.spec),
    `## Expressions\n\n${table(['function', 'result'], functions)}\n\nResults of steps: ${language.stepResults.map((name) => `\`${name}\``).join(' · ')}\n`,
    `## Built-in variables\n\n${table(
      ['name', 'meaning'],
      language.variables.map(({ name, about }) => [`\`${name}\``, about]),
    )}\n`,
    `## Codes of diagnostics\n\n${table(
      ['code', 'meaning'],
      language.codes.map(({ code, about }) => [`\`${code}\``, about]),
    )}\n`,
  ].join('\n')
}

/** The description that a running server gives of itself. */
async function openApi(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'windlass-gen-'))
  const server = await startServer({ dataDir, host: '127.0.0.1', port: 0 })
  try {
    const client = createClient({ url: server.url, transport: nodeTransport() })
    return `${JSON.stringify(await client.call('GET', '/v1/openapi.json', z.unknown()), null, 2)}\n`
  } finally {
    await server.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** Every generated file: path -> text. */
async function pages(): Promise<Record<string, string>> {
  return {
    'docs/reference/errors.md': faultPage(),
    'docs/reference/states.md': statePage(),
    'docs/reference/pipeline.md': languagePage(),
    'docs/reference/pipeline.schema.json': `${JSON.stringify(jsonSchema(), null, 2)}\n`,
    'docs/reference/cli.md': `${NOTE}\n${describeCommands()}`,
    'docs/reference/configuration.md': configurationPage(),
    'docs/reference/openapi.json': await openApi(),
    'docs/reference/runtime.schema.json': `${JSON.stringify(z.toJSONSchema(RuntimeInput, { io: 'input' }), null, 2)}\n`,
    'docs/features/README.md': featurePage(),
    ...Object.fromEntries(chartFiles().map(({ path, text }) => [path, text])),
  }
}

function readOrEmpty(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}

const check = process.argv.includes('--check')
const stale: string[] = []
for (const [path, text] of Object.entries(await pages())) {
  const full = join(root, path)
  if (readOrEmpty(full) === text) continue
  stale.push(path)
  if (check) continue
  mkdirSync(dirname(full), { recursive: true })
  writeFileSync(full, text)
}
if (check && stale.length > 0) {
  console.error(`stale, run \`npm run gen\`: ${stale.join(', ')}`)
  process.exit(1)
}
console.log(check ? 'generated files are current' : `written: ${stale.length === 0 ? 'nothing to change' : stale.join(', ')}`)
