/**
 * Writes the reference pages from the code that they describe. `--check` only compares, and exits with 1 if a page is stale.
 */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { z } from 'zod'
import { AgentConfig } from '../packages/agent/src/config.ts'
import { AppProxyConfig } from '../packages/app-proxy/src/index.ts'
import { describeCommands, describeRights } from '../packages/cli/src/index.ts'
import { openClient } from '../packages/client/src/index.ts'
import { EngineConfig } from '../packages/engine/src/config.ts'
import { ControlPlaneConfig, KEY_USES, VaultConfig } from '../packages/gitlab/src/index.ts'
import { faults, nodeTransport, type FaultSpec } from '../packages/kit/src/index.ts'
import { describeLanguage, jsonSchema, type FieldDescription } from '../packages/pipeline/src/index.ts'
import { MonitorConfig } from '../packages/monitor/src/config.ts'
import { BUILD_STATUSES, REASONS, STEP_STATUSES, TRIGGERS } from '../packages/plan/src/index.ts'
import { RuntimeInput } from '../packages/protocol/src/index.ts'
import { ReporterConfig } from '../packages/reporter/src/index.ts'
import { RouterConfig } from '../packages/router/src/index.ts'
import { ServerConfig, startServer } from '../packages/server/src/index.ts'
import { TunnelClientConfig } from '../packages/tunnel/src/client/index.ts'
import { CleanerConfig } from '../packages/volumes/src/cleaner/config.ts'
import { NodeDiskCleanerConfig } from '../packages/volumes/src/node-disk-cleaner/config.ts'
import { ProvisionerConfig } from '../packages/volumes/src/provisioner/config.ts'
import { rolePage, scopePage } from './access-pages.ts'
import { featurePage } from './features.ts'
import { graphqlPage } from './graphql-page.ts'
import { chartFiles } from './helm/pages.ts'
import { NOTE, table, withContents } from './pages.ts'

const root = resolve(import.meta.dirname, '..')

function faultPage(): string {
  const rows = Object.entries<FaultSpec>(faults).map(([code, spec]) => [
    `\`${code}\``,
    String(spec.status),
    spec.text,
    spec.hint,
    spec.problemsHint ?? '',
    spec.retry === true ? 'yes' : '',
    spec.ends?.join(', ') ?? '',
  ])
  return `${NOTE}\n# Error codes\n\nSource: packages/kit/src/fault-table.ts. The API returns them as \`application/problem+json\` with \`code\`, \`detail\` and \`hint\`. *With problems*: the hint if the answer has \`problems\`. *Retry*: the same request may succeed later without a change. *Ends*: the work that the error ends permanently (a running attempt, the claim of an engine, an agent); after any other error it continues and retries.\n\n${table(['code', 'HTTP', 'meaning', 'what to do', 'with `problems`', 'retry', 'ends'], rows)}\n`
}

/** All texts that users see and that are in tables, on one page, so that they can be read and compared as a set. */
function messagePage(): string {
  const language = describeLanguage()
  const code = (name: string): string => `\`${name}\``
  return `${NOTE}
# Messages

All messages that are in tables, on one page. [Error codes](errors.md) and [states and reasons](states.md) explain the columns.

## Faults

Source: packages/kit/src/fault-table.ts. A more specific message may replace the text.

${table(
  ['code', 'status', 'text', 'hint', 'with `problems`'],
  Object.entries<FaultSpec>(faults).map(([name, { status, text, hint, problemsHint = '' }]) => [
    code(name),
    String(status),
    text,
    hint,
    problemsHint,
  ]),
)}

## Reasons

Source: packages/plan/src/lists.ts.

${table(
  ['name', 'blame', 'text'],
  Object.entries(REASONS).map(([name, { blame, text }]) => [code(name), blame, text]),
)}

## Diagnostics of the pipeline language

Source: packages/pipeline/src/language/diagnostic.ts. Each diagnostic has a message of its own; the table has the meaning of its code.

${table(
  ['code', 'meaning'],
  language.codes.map(({ code: name, about }) => [code(name), about]),
)}

## Step types that are not run

${table(
  ['type', 'hint'],
  Object.entries(language.refusedTypes).map(([name, instead]) => [code(name), instead]),
)}
`
}

function statePage(): string {
  const rows = Object.entries(REASONS).map(([reason, { blame, text }]) => [`\`${reason}\``, blame, text])
  const list = (names: readonly string[]): string => names.map((name) => `\`${name}\``).join(' · ')
  return `${NOTE}
# States and reasons

Source: packages/plan/src/lists.ts.

Builds: ${list(BUILD_STATUSES)}

Steps: ${list(STEP_STATUSES)}

A reason says why a build is waiting or how it ended. \`user\`: the pipeline or its code; \`infra\`: the cluster or Windlass, retried
automatically; \`control\`: a decision of a user, a limit or a policy; \`waiting\`: what the build is waiting for.

${table(['reason', 'kind', 'meaning'], rows)}

## What starts builds

A build has \`trigger: {kind, name}\`. The name is that of a trigger of the pipeline.

${table(
  ['kind', 'meaning', '`CF_BUILD_TRIGGER`'],
  Object.entries(TRIGGERS).map(([kind, { text, variable }]) => [`\`${kind}\``, text, `\`${variable}\``]),
)}
`
}

const CONFIGURED = [
  { title: 'Server', prefix: 'WINDLASS_SERVER_', schema: ServerConfig },
  { title: 'Agent', prefix: 'WINDLASS_AGENT_', schema: AgentConfig },
  { title: 'Engine', prefix: 'WINDLASS_ENGINE_', schema: EngineConfig },
  { title: 'Volume provisioner', prefix: 'WINDLASS_PROVISIONER_', schema: ProvisionerConfig },
  { title: 'Node disk cleaner', prefix: 'WINDLASS_LOCAL_MONITOR_', schema: NodeDiskCleanerConfig },
  { title: 'Volume cleaner', prefix: 'WINDLASS_CLEANER_', schema: CleanerConfig },
  { title: 'Cluster monitor', prefix: 'WINDLASS_MONITOR_', schema: MonitorConfig },
  { title: 'Tunnel client', prefix: 'WINDLASS_TUNNEL_', schema: TunnelClientConfig },
  { title: 'Router of GitOps runtimes', prefix: 'WINDLASS_ROUTER_', schema: RouterConfig },
  { title: 'App-proxy of a GitOps runtime', prefix: 'WINDLASS_APP_PROXY_', schema: AppProxyConfig },
  { title: 'Reporter of a GitOps runtime', prefix: 'WINDLASS_REPORTER_', schema: ReporterConfig },
  { title: 'Manager of GitLab runners', prefix: 'WINDLASS_GITLAB_SERVER_', schema: ControlPlaneConfig },
  { title: 'Secrets of GitLab jobs', prefix: 'WINDLASS_GITLAB_VAULT_', schema: VaultConfig },
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
  return `${NOTE}\n# Configuration\n\nEvery setting can also come from a file: \`X_FILE\` names a file that holds the value of \`X\`.\n\n${parts.join('\n')}`
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
    `${NOTE}\n# Pipeline language\n\nSource: packages/pipeline/src/language/language.ts and packages/pipeline/src/actions/index.ts, the tables that validation uses.\n`,
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

/** The keys of a `config.toml` by their tables. */
function gitlabConfigPage(): string {
  const sections = Map.groupBy(Object.entries(KEY_USES), ([path]) =>
    path.startsWith('runners.') ? (/^runners\.(?:kubernetes|cache)(?=\.)/.exec(path)?.[0] ?? 'runners') : '',
  )
  const parts = Array.from(sections, ([section, entries]) => {
    const rows = entries.map(([path, key]) => {
      const about = key.use === 'used' ? [] : [`${key.reason.charAt(0).toUpperCase()}${key.reason.slice(1)}.`]
      const action = key.use === 'used' || key.action === undefined ? [] : [`${key.action}.`]
      return [`\`${section === '' ? path : path.slice(section.length + 1)}\``, key.use, [...about, ...action].join(' ')]
    })
    return `## ${section === '' ? 'Global' : section}\n\n${table(['key', 'use', 'reason and what to do'], rows)}\n`
  })
  const about = `The keys of the configuration of a GitLab runner with the Kubernetes executor, and what Windlass does with them. A key that is *used* has the meaning of
the original. The manager logs a warning at its start for each other key that is set, and \`windlass gitlab validate\` lists them with their lines.

Source: packages/gitlab/src/config/keys/key-uses.ts.`
  return `${NOTE}\n# Keys of config.toml\n\n${about}\n\n${parts.join('\n')}`
}

/** Returns the list of decisions. Throws for a page without a title. */
function decisionPage(): string {
  const folder = join(root, 'docs/development/adr')
  const files = readdirSync(folder).filter((name) => /^(?!0000)\d{4}-.*\.md$/.test(name))
  const lines = files.toSorted().map((name) => {
    const title = /^# (\d{4}\. .+)$/m.exec(readFileSync(join(folder, name), 'utf8'))?.[1]
    if (title === undefined) throw new Error(`docs/development/adr/${name} does not begin with "# NNNN. Title"`)
    return `- [${title}](${name})`
  })
  return `${NOTE}\n# Decisions\n\nEach page has the context of a decision, the decision, its consequences, and when to reconsider it. [Template](0000-template.md).\n\n${lines.join('\n')}\n`
}

/** Returns the OpenAPI document of a running server. */
async function openApi(): Promise<unknown> {
  const dataDir = mkdtempSync(join(tmpdir(), 'windlass-gen-'))
  const server = await startServer({ dataDir, host: '127.0.0.1', port: 0 })
  try {
    const client = openClient({ url: server.url, transport: nodeTransport() })
    return await client.server.openapi()
  } finally {
    await server.close()
    rmSync(dataDir, { recursive: true, force: true })
  }
}

/** JSON with two spaces, short lists of texts and numbers on one line. */
function printJson(value: unknown): string {
  const scalar = String.raw`(?:"(?:[^"\\]|\\.)*"|-?[\d.e+-]+|true|false|null)`
  const list = new RegExp(String.raw`\[\n\s+(${scalar}(?:,\n\s+${scalar})*)\n\s+\]`, 'g')
  const text = JSON.stringify(value, null, 2).replace(list, (whole, items: string) => {
    const line = `[${items.replace(/,\n\s+/g, ', ')}]`
    return line.length > 100 ? whole : line
  })
  return `${text}\n`
}

function rightsPage(): string {
  return [
    NOTE,
    '# Permissions to install a Runner',
    '',
    'The least permissions that `windlass runner init` and the chart `windlass-runtime` need. `runner init` checks them before it changes anything. Kubernetes lets',
    'users grant only permissions that they have, so the permissions of the service accounts are among them. The role cluster-admin has all. Optional',
    'parts of the chart, such as the event exporter, ballast and monitors of Prometheus, need those of their objects in addition.',
    '',
    '*cluster* means a ClusterRole, *namespace* a Role in the namespace of the Runner.',
    '',
    describeRights(),
  ].join('\n')
}

/** Every generated file: path -> text. */
async function pages(): Promise<Record<string, string>> {
  const api = await openApi()
  return {
    'docs/reference/errors.md': faultPage(),
    'docs/reference/messages.md': messagePage(),
    'docs/reference/states.md': statePage(),
    'docs/reference/pipeline.md': withContents(languagePage()),
    'docs/reference/pipeline.schema.json': printJson(jsonSchema()),
    'docs/reference/cli.md': `${NOTE}\n${describeCommands()}`,
    'docs/reference/configuration.md': withContents(configurationPage()),
    'docs/reference/gitlab-config.md': withContents(gitlabConfigPage()),
    'docs/reference/openapi.json': printJson(api),
    'docs/reference/graphql.md': graphqlPage(),
    'docs/reference/roles.md': rolePage(api),
    'docs/reference/rights.md': withContents(rightsPage()),
    'docs/reference/scopes.md': withContents(scopePage(api)),
    'docs/reference/runtime.schema.json': printJson(z.toJSONSchema(RuntimeInput, { io: 'input' })),
    // Editors load them from the server.
    'packages/server/src/http/public/schemas/pipeline.schema.json': `${JSON.stringify(jsonSchema())}\n`,
    'packages/server/src/http/public/schemas/runtime.schema.json': `${JSON.stringify(z.toJSONSchema(RuntimeInput, { io: 'input' }))}\n`,
    'docs/development/features/README.md': featurePage(),
    'docs/development/adr/README.md': decisionPage(),
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
