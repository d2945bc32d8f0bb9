/** Stored pipelines: `kind: pipeline` documents with metadata and settings around the steps. */
import { checkFields } from '../language/check.ts'
import type { Diagnostic } from '../language/diagnostic.ts'
import { hasErrors, sortProblems } from '../language/diagnostic.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { ROOT } from '../language/language.ts'
import type { MainCloneSettings } from '../draft/main-clone.ts'
import { METADATA, PIPELINE, SPEC } from '../language/pipeline-language.ts'
import { parseYaml } from '../syntax/parse.ts'
import type { Source } from '../syntax/parse.ts'
import { Report } from '../syntax/report.ts'
import { isRootKey } from '../language/root-fields.ts'
import type { MapNode, TreeNode } from '../syntax/tree.ts'
import { child, textOf, toValue } from '../syntax/tree.ts'

export interface PipelineDocument {
  /** Full name: `project/pipeline`, or only `pipeline`. */
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
  /** Maximum number of concurrent builds; 0 freezes the pipeline. No limit if absent, also for the next two. */
  readonly concurrency?: number
  readonly branchConcurrency?: number
  readonly triggerConcurrency?: number
  /** -100 to 100; builds with a higher priority start first. */
  readonly priority: number
  readonly mainClone: MainCloneSettings
  /** Fields of `spec` that this version stores but does not use, as written. */
  readonly kept: Readonly<Record<string, unknown>>
}

export interface DocumentVariable {
  readonly name: string
  readonly value: string
  /** True for a value that is stored encrypted. The value `*****` means: keep the stored one. */
  readonly encrypted: boolean
}

/** Kubernetes quantities as text, such as `2000m` and `8Gi`. */
export interface RuntimeRequest {
  readonly name?: string
  readonly cpu?: string
  readonly memory?: string
  readonly dindStorage?: string
}

/** Location of the steps: in the document, in a repository, or behind a URL. */
export type PipelineSource =
  | { readonly kind: 'inline' }
  | { readonly kind: 'git'; readonly repo: string; readonly path: string; readonly revision?: string; readonly context?: string }
  | { readonly kind: 'url'; readonly url: string }

export interface ReadPipeline {
  /** Absent if there are errors. */
  readonly document?: PipelineDocument
  readonly problems: readonly Diagnostic[]
}

/** Returns the `kind` of a document, `inline` for steps without a kind, or undefined if the text does not parse. */
export function documentKind(text: string): string | undefined {
  const { root } = parseYaml({ text, file: '' })
  if (root?.kind !== 'map') return undefined
  return root.entries.has('kind') ? textOf(child(root, 'kind')) : 'inline'
}

/** Reads the settings of a `kind: pipeline` document. Does not check its steps; `compile` does. Never throws. */
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
      hint: 'A pipeline document needs "kind: pipeline", "metadata.name" and "spec".',
    })
    return undefined
  }
  const spec = pipelineSpec(root, report)
  const metadata = read.map(root.entries, 'metadata')
  const name = textOf(child(metadata, 'name'))
  if (spec === undefined || metadata === undefined || name === undefined) return undefined
  const labels = child(metadata, 'labels')
  const source = readSource(spec.entries)
  return {
    name,
    ...read.when('description', read.text(metadata.entries, 'description')),
    labels: labels?.kind === 'map' ? toRecord(labels) : {},
    settings: readSettings(spec.entries, source),
    source,
  }
}

/** Checks a pipeline document. Returns its `spec`, or undefined if there is none. */
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

const SUPPORTED = [
  'variables',
  'contexts',
  'runtimeEnvironment',
  'concurrency',
  'branchConcurrency',
  'triggerConcurrency',
  'priority',
  'mainClone',
  'specTemplate',
]

function readSettings(spec: Entries, source: PipelineSource): PipelineSettings {
  const runtime = read.map(spec, 'runtimeEnvironment')
  const kept = [...spec.values()].filter(({ key }) => !isRootKey(key) && !SUPPORTED.includes(key))
  return {
    variables: readVariables(read.node(spec, 'variables')),
    contexts: read.texts(spec, 'contexts') ?? [],
    ...read.when('runtimeEnvironment', runtime === undefined ? undefined : readRuntime(runtime.entries)),
    ...read.when('concurrency', read.number(spec, 'concurrency')),
    ...read.when('branchConcurrency', read.number(spec, 'branchConcurrency')),
    ...read.when('triggerConcurrency', read.number(spec, 'triggerConcurrency')),
    priority: read.number(spec, 'priority') ?? 0,
    mainClone: readMainClone(read.map(spec, 'mainClone')?.entries ?? new Map(), source),
    kept: Object.fromEntries(kept.map(({ key, value }) => [key, toValue(value)])),
  }
}

/** A context of `specTemplate` may be a reference, which the setting does not allow. */
function plainName(context: string | undefined): string | undefined {
  return context !== undefined && /^[A-Za-z0-9][A-Za-z0-9._@:/-]*$/.test(context) ? context : undefined
}

/** The repository that holds the steps is the one that they are about, unless another one is named. */
function readMainClone(entries: Entries, source: PipelineSource): MainCloneSettings {
  const origin = source.kind === 'git' ? source : undefined
  const automatic = read.flag(entries, 'automatic')
  return {
    ...read.when('automatic', typeof automatic === 'boolean' ? automatic : undefined),
    ...read.when('repo', read.text(entries, 'repo') ?? origin?.repo),
    ...read.when('git', read.text(entries, 'git') ?? (entries.has('repo') ? undefined : plainName(origin?.context))),
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

/** Reads resource requests. Exports of other systems write `nullGi` for storage that is not set. */
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
