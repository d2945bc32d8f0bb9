/** The stored form of a pipeline: `kind: pipeline` with metadata and settings around the steps. */
import { checkFields } from './check.ts'
import type { Diagnostic } from './diagnostic.ts'
import { hasErrors, sortProblems } from './diagnostic.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import { ROOT } from './language.ts'
import { METADATA, PIPELINE, SPEC } from './pipeline-language.ts'
import { parseYaml } from './parse.ts'
import type { Source } from './parse.ts'
import { Report } from './report.ts'
import { isRootKey } from './root-fields.ts'
import type { MapNode, TreeNode } from './tree.ts'
import { child, textOf, toValue } from './tree.ts'

export interface PipelineDocument {
  /** Full name: `project/pipeline`, or `pipeline` alone. */
  readonly name: string
  readonly description?: string
  /** Labels of the metadata, as written. */
  readonly labels: Readonly<Record<string, unknown>>
  readonly settings: PipelineSettings
  readonly source: PipelineSource
}

export interface PipelineSettings {
  readonly variables: readonly DocumentVariable[]
  /** Names of shared configuration, lowest precedence first. */
  readonly contexts: readonly string[]
  readonly runtimeEnvironment?: RuntimeRequest
  /** Most builds at once; 0 freezes the pipeline. Absent means no limit, for all three. */
  readonly concurrency?: number
  readonly branchConcurrency?: number
  readonly triggerConcurrency?: number
  /** -100 to 100; the higher goes first. */
  readonly priority: number
  /** Fields of `spec` that this version keeps and does not act on, as written. */
  readonly kept: Readonly<Record<string, unknown>>
}

export interface DocumentVariable {
  readonly name: string
  readonly value: string
  /** True for a value that is kept encrypted. `*****` as value means: keep what is stored. */
  readonly encrypted: boolean
}

/** Kubernetes quantities as text, such as `2000m` and `8Gi`. */
export interface RuntimeRequest {
  readonly name?: string
  readonly cpu?: string
  readonly memory?: string
  readonly dindStorage?: string
}

/** Where the steps are: in the document itself, in a repository, or behind a URL. */
export type PipelineSource =
  | { readonly kind: 'inline' }
  | { readonly kind: 'git'; readonly repo: string; readonly path: string; readonly revision?: string; readonly context?: string }
  | { readonly kind: 'url'; readonly url: string }

export interface ReadPipeline {
  /** Absent when there are errors. */
  readonly document?: PipelineDocument
  readonly problems: readonly Diagnostic[]
}

/** What a document is by its `kind`: `pipeline`, `inline` for steps without one, or the kind as written. Undefined when it does not parse. */
export function documentKind(text: string): string | undefined {
  const { root } = parseYaml({ text, file: '' })
  if (root?.kind !== 'map') return undefined
  return root.entries.has('kind') ? textOf(child(root, 'kind')) : 'inline'
}

/** Reads the settings of a `kind: pipeline` document. Its steps are checked by `compile`, not here. Never throws. */
export function readPipelineDocument(source: Source): ReadPipeline {
  const parsed = parseYaml(source)
  const report = new Report(parsed.source)
  report.problems.push(...parsed.problems)
  const document = parsed.root === undefined ? emptyDocument(report) : readRoot(parsed.root, report)
  const problems = sortProblems(report.problems)
  return { problems, ...(document !== undefined && !hasErrors(problems) && { document }) }
}

function emptyDocument(report: Report): undefined {
  if (!hasErrors(report.problems)) report.error('wrong-type', { start: 0, end: 0 }, 'the document is empty')
}

function readRoot(root: TreeNode, report: Report): PipelineDocument | undefined {
  if (root.kind !== 'map') {
    report.error('wrong-type', root.range, 'the document must be an object')
    return undefined
  }
  if (!root.entries.has('kind')) {
    report.error('required', { start: root.range.start, end: root.range.start }, '"kind" is required', {
      path: 'kind',
      hint: 'A pipeline document has "kind: pipeline", "metadata.name" and "spec".',
    })
    return undefined
  }
  const spec = pipelineSpec(root, report)
  const metadata = read.map(root.entries, 'metadata')
  const name = textOf(child(metadata, 'name'))
  if (spec === undefined || metadata === undefined || name === undefined) return undefined
  const labels = child(metadata, 'labels')
  return {
    name,
    ...read.when('description', read.text(metadata.entries, 'description')),
    labels: labels?.kind === 'map' ? toRecord(labels) : {},
    settings: readSettings(spec.entries),
    source: readSource(spec.entries),
  }
}

/** The checked `spec` of a pipeline document, or undefined when there is none to go on with. */
export function pipelineSpec(root: MapNode, report: Report): { entries: Entries; start: number } | undefined {
  const range = { start: root.range.start, end: root.range.start }
  checkFields(root.entries, PIPELINE, { spot: { key: 'document', path: '' }, report, open: false, range })
  const metadata = read.map(root.entries, 'metadata')
  if (metadata !== undefined) {
    checkFields(metadata.entries, METADATA, {
      spot: { key: 'metadata', path: 'metadata' },
      report,
      open: true,
      range: root.entries.get('metadata')?.keyRange ?? range,
    })
  }
  const entry = root.entries.get('spec')
  if (entry === undefined || entry.value.kind !== 'map') return undefined
  checkSpec(entry.value, { report, range: entry.keyRange })
  return { entries: entry.value.entries, start: entry.keyRange.start }
}

function checkSpec(spec: MapNode, { report, range }: { report: Report; range: { start: number; end: number } }): void {
  const own = new Map([...spec.entries].filter(([key]) => !isRootKey(key)))
  checkFields(
    own,
    { ...SPEC, ...Object.fromEntries(Object.entries(ROOT).map(([key, field]) => [key, { ...field, required: false }])) },
    {
      spot: { key: 'spec', path: 'spec' },
      report,
      open: false,
      range,
    },
  )
  const template = spec.entries.get('specTemplate')
  if (template === undefined) return
  const isUrl = textOf(child(template.value, 'location')) !== 'git'
  for (const [field, needed] of [
    ['url', isUrl],
    ['repo', !isUrl],
    ['path', !isUrl],
  ] as const) {
    const path = `spec.specTemplate.${field}`
    const written = child(template.value, field)
    if (needed && written === undefined) report.error('required', template.keyRange, `"${field}" is required`, { path })
    else if (!needed && written !== undefined)
      report.error('not-allowed', written.range, `"${field}" is not allowed with this "location"`, { path })
  }
}

function readSource(spec: Entries): PipelineSource {
  const template = read.map(spec, 'specTemplate')?.entries
  if (template === undefined) return { kind: 'inline' }
  if (read.text(template, 'location') !== 'git') return { kind: 'url', url: read.text(template, 'url') ?? '' }
  return {
    kind: 'git',
    repo: read.text(template, 'repo') ?? '',
    path: read.text(template, 'path') ?? '',
    ...read.when('revision', read.text(template, 'revision')),
    ...read.when('context', read.text(template, 'context')),
  }
}

const ACTED_ON = [
  'variables',
  'contexts',
  'runtimeEnvironment',
  'concurrency',
  'branchConcurrency',
  'triggerConcurrency',
  'priority',
  'specTemplate',
]

function readSettings(spec: Entries): PipelineSettings {
  const runtime = read.map(spec, 'runtimeEnvironment')
  const kept = [...spec.values()].filter(({ key }) => !isRootKey(key) && !ACTED_ON.includes(key))
  return {
    variables: readVariables(read.node(spec, 'variables')),
    contexts: read.texts(spec, 'contexts') ?? [],
    ...read.when('runtimeEnvironment', runtime === undefined ? undefined : readRuntime(runtime.entries)),
    ...read.when('concurrency', read.number(spec, 'concurrency')),
    ...read.when('branchConcurrency', read.number(spec, 'branchConcurrency')),
    ...read.when('triggerConcurrency', read.number(spec, 'triggerConcurrency')),
    priority: read.number(spec, 'priority') ?? 0,
    kept: Object.fromEntries(kept.map(({ key, value }) => [key, toValue(value)])),
  }
}

function readVariables(list: TreeNode | undefined): DocumentVariable[] {
  if (list?.kind !== 'list') return []
  return list.items.flatMap((item) => {
    const name = textOf(child(item, 'key'))
    if (item.kind !== 'map' || name === undefined) return []
    const value = child(item, 'value')
    const text =
      value?.kind === 'scalar' && value.value !== null ? (typeof value.value === 'string' ? value.value : value.written) : ''
    return [{ name, value: text, encrypted: read.flag(item.entries, 'encrypted') === true }]
  })
}

/** Exports of other systems write `nullGi` for storage that is not set. */
function readRuntime(entries: Entries): RuntimeRequest {
  const quantity = (key: string): string | undefined => {
    const text = read.text(entries, key)
    return text === undefined || text === '' || text.startsWith('null') ? undefined : text
  }
  return {
    ...read.when('name', read.text(entries, 'name')),
    ...read.when('cpu', quantity('cpu')),
    ...read.when('memory', quantity('memory')),
    ...read.when('dindStorage', quantity('dindStorage')),
  }
}

function toRecord(node: MapNode): Record<string, unknown> {
  return Object.fromEntries([...node.entries.values()].map(({ key, value }) => [key, toValue(value)]))
}
