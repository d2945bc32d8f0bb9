/** Reads and checks `kind: step-type` documents without resolving their content. */
import { checkFields } from '../language/check.ts'
import type { Diagnostic } from '../language/diagnostic.ts'
import { hasErrors, sortProblems } from '../language/diagnostic.ts'
import * as read from '../language/fields.ts'
import { parseYaml } from '../syntax/parse.ts'
import type { Source } from '../syntax/parse.ts'
import { Report } from '../syntax/report.ts'
import { any, either, record, text } from '../language/shape.ts'
import type { Fields, Shape } from '../language/shape.ts'
import { child, textOf, toValue } from '../syntax/tree.ts'
import type { MapNode, ScalarNode, TreeNode } from '../syntax/tree.ts'
import { readSchema } from './schema.ts'
import type { ArgumentSchema } from './schema.ts'
import { isVersion } from './version.ts'
import type { SourceText } from '../syntax/source.ts'

export interface StepTypeManifest {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly arguments: ArgumentSchema
  /** Declared outputs. If undefined, every variable is an output of the step. */
  readonly returns?: { readonly names: readonly string[]; readonly required: readonly string[] }
  readonly steps:
    | { readonly map: MapNode }
    | { readonly template: ScalarNode; readonly delimiters: { left: string; right: string } }
  readonly source: SourceText
}

export interface ReadStepType {
  /** Absent if there are errors. */
  readonly manifest?: StepTypeManifest
  /** Name as written, also in a manifest with errors. */
  readonly name?: string
  readonly problems: readonly Diagnostic[]
}

const schema: Shape = either({ kind: 'text', empty: true }, { kind: 'record', fields: {}, open: true })

const TOP: Fields = {
  version: { shape: any, about: 'Always `1.0`.' },
  kind: { shape: { kind: 'word', words: ['step-type'] }, required: true, about: 'Always `step-type`.' },
  metadata: { shape: { kind: 'record', fields: {}, open: true }, required: true, about: 'Name, version and descriptions.' },
  spec: { shape: { kind: 'record', fields: {}, open: true }, required: true, about: 'Arguments and steps.' },
}

const METADATA: Fields = {
  name: { shape: text, required: true, about: 'Name by which steps use it, such as `account/greet`.' },
  version: { shape: text, required: true, about: 'A version such as `1.2.0`.' },
  description: { shape: { kind: 'text', empty: true }, about: 'What it does.' },
}

const SPEC: Fields = {
  arguments: { shape: schema, about: 'JSON Schema of the arguments, as text or as an object.' },
  returns: { shape: schema, about: 'JSON Schema of the outputs.' },
  steps: { shape: { kind: 'map', of: any, least: 1 }, about: 'Steps of the step type.' },
  stepsTemplate: { shape: text, about: 'Template of the steps, used instead of `steps`.' },
  delimiters: {
    shape: record({
      left: { shape: text, required: true, about: 'Start of a template action, usually `[[`.' },
      right: { shape: text, required: true, about: 'End of a template action, usually `]]`.' },
    }),
    about: 'Delimiters of template actions; `{{` and `}}` by default.',
  },
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)?$/
const MAX_NAME = 150

/** Returns true for a document of `kind: step-type`. */
export function isStepType(source: Source): boolean {
  const { root } = parseYaml(source)
  return root?.kind === 'map' && textOf(root.entries.get('kind')?.value) === 'step-type'
}

/** Reads a manifest. Never throws; positions refer to the manifest. */
export function readStepType(source: Source): ReadStepType {
  const parsed = parseYaml(source)
  const report = new Report(parsed.source)
  report.problems.push(...parsed.problems)
  const manifest = hasErrors(parsed.problems) ? undefined : readRoot(parsed.root, report)
  const problems = sortProblems(report.problems)
  const name = textOf(child(child(parsed.root, 'metadata'), 'name'))
  return { problems, ...read.when('name', name), ...(manifest !== undefined && !hasErrors(problems) && { manifest }) }
}

function readRoot(root: TreeNode | undefined, report: Report): StepTypeManifest | undefined {
  const start = { start: 0, end: 0 }
  if (root?.kind !== 'map') {
    report.error('wrong-type', start, 'a step type must be an object', {
      hint: 'A step type needs "kind", "metadata" and "spec".',
    })
    return undefined
  }
  checkFields(root.entries, TOP, { spot: { key: 'document', path: '' }, report, open: true, range: start })
  const metadata = read.map(root.entries, 'metadata')
  const spec = read.map(root.entries, 'spec')
  if (metadata === undefined || spec === undefined) return undefined
  const range = (key: string): { start: number; end: number } => root.entries.get(key)?.keyRange ?? start
  checkFields(metadata.entries, METADATA, {
    spot: { key: 'metadata', path: 'metadata' },
    report,
    open: true,
    range: range('metadata'),
  })
  checkFields(spec.entries, SPEC, { spot: { key: 'spec', path: 'spec' }, report, open: true, range: range('spec') })
  checkName(metadata, report)
  const steps = readSteps(spec, { report, range: range('spec') })
  const declared = readSchema(spec, 'arguments', report)
  const returned = spec.entries.has('returns') ? readSchema(spec, 'returns', report) : undefined
  const name = read.text(metadata.entries, 'name')
  const version = read.text(metadata.entries, 'version')
  if (name === undefined || version === undefined || steps === undefined || declared === undefined) return undefined
  return {
    name,
    version,
    description: read.text(metadata.entries, 'description') ?? '',
    arguments: declared,
    ...(returned !== undefined && { returns: { names: Object.keys(returned.properties), required: returned.required } }),
    steps,
    source: report.source,
  }
}

function checkName(metadata: MapNode, report: Report): void {
  const name = metadata.entries.get('name')?.value
  const version = metadata.entries.get('version')?.value
  const written = textOf(name)
  if (name !== undefined && written !== undefined && (!NAME.test(written) || written.length > MAX_NAME)) {
    report.error('invalid-value', name.range, `"name" must be a name or account/name of letters, digits, ".", "_" and "-"`, {
      path: 'metadata.name',
    })
  }
  const text = textOf(version)
  if (version !== undefined && text !== undefined && !isVersion(text)) {
    report.error('invalid-value', version.range, `"version" must be a semantic version. Current value: ${text.slice(0, 60)}`, {
      path: 'metadata.version',
      hint: 'Use three numbers, such as 1.0.0.',
    })
  }
}

function readSteps(
  spec: MapNode,
  { report, range }: { report: Report; range: { start: number; end: number } },
): StepTypeManifest['steps'] | undefined {
  const map = read.map(spec.entries, 'steps')
  const template = read.node(spec.entries, 'stepsTemplate')
  if (map !== undefined && template !== undefined) {
    report.error(
      'conflict',
      spec.entries.get('stepsTemplate')?.keyRange ?? range,
      '"stepsTemplate" conflict with forbidden peer "steps"',
      {
        path: 'spec.stepsTemplate',
        hint: 'Keep one of them.',
      },
    )
  }
  if (map !== undefined) return { map }
  if (template?.kind === 'scalar' && typeof template.value === 'string') {
    const delimiters = toValue(read.map(spec.entries, 'delimiters') ?? template)
    return { template, delimiters: readDelimiters(delimiters) }
  }
  if (!spec.entries.has('steps') && !spec.entries.has('stepsTemplate'))
    report.error('required', range, '"steps" is required', {
      path: 'spec.steps',
      hint: 'A step type needs "steps" or "stepsTemplate".',
    })
  return undefined
}

function readDelimiters(written: unknown): { left: string; right: string } {
  const defaults = { left: '{{', right: '}}' }
  if (typeof written !== 'object' || written === null) return defaults
  const { left, right } = { ...defaults, ...written }
  return { left: String(left), right: String(right) }
}
