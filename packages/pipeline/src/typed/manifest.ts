/** Documents of `kind: step-type`: read, checked, and nothing resolved in them yet. */
import { checkFields } from '../check.ts'
import type { Diagnostic } from '../diagnostic.ts'
import { hasErrors, sortProblems } from '../diagnostic.ts'
import * as read from '../fields.ts'
import { parseYaml } from '../parse.ts'
import type { Source } from '../parse.ts'
import { Report } from '../report.ts'
import { any, either, record, text } from '../shape.ts'
import type { Fields, Shape } from '../shape.ts'
import { textOf, toValue } from '../tree.ts'
import type { MapNode, ScalarNode, TreeNode } from '../tree.ts'
import { readSchema } from './schema.ts'
import type { ArgumentSchema } from './schema.ts'
import { isVersion } from './version.ts'
import type { SourceText } from '../source.ts'

export interface StepType {
  readonly name: string
  readonly version: string
  readonly description: string
  readonly arguments: ArgumentSchema
  /** Undefined: every variable leaves the step. */
  readonly returns?: { readonly names: readonly string[]; readonly required: readonly string[] }
  readonly steps:
    | { readonly map: MapNode }
    | { readonly template: ScalarNode; readonly delimiters: { left: string; right: string } }
  readonly source: SourceText
}

export interface ReadStepType {
  /** Absent when there are errors. */
  readonly manifest?: StepType
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
  name: { shape: text, required: true, about: 'The name by which steps use it, such as `account/greet`.' },
  version: { shape: text, required: true, about: 'A version such as `1.2.0`.' },
  description: { shape: { kind: 'text', empty: true }, about: 'What it does.' },
}

const SPEC: Fields = {
  arguments: { shape: schema, about: 'JSON Schema of the arguments, as text or as an object.' },
  returns: { shape: schema, about: 'JSON Schema of what leaves the step.' },
  steps: { shape: { kind: 'map', of: any, least: 1 }, about: 'The steps it consists of.' },
  stepsTemplate: { shape: text, about: 'A template of the steps, used in place of `steps`.' },
  delimiters: {
    shape: record({
      left: { shape: text, required: true, about: 'Opens an action of the template, usually `[[`.' },
      right: { shape: text, required: true, about: 'Closes an action of the template, usually `]]`.' },
    }),
    about: 'What opens and closes an action of the template; `{{` and `}}` by default.',
  },
}

const NAME = /^[A-Za-z0-9][A-Za-z0-9._-]*(?:\/[A-Za-z0-9][A-Za-z0-9._-]*)?$/
const MAX_NAME = 150

/** True when the document says that it is a step type. */
export function isStepType(source: Source): boolean {
  const { root } = parseYaml(source)
  return root?.kind === 'map' && textOf(root.entries.get('kind')?.value) === 'step-type'
}

/** Reads a manifest. Never throws; positions are those of the manifest. */
export function readStepType(source: Source): ReadStepType {
  const parsed = parseYaml(source)
  const report = new Report(parsed.source)
  report.problems.push(...parsed.problems)
  const manifest = hasErrors(parsed.problems) ? undefined : readRoot(parsed.root, report)
  const problems = sortProblems(report.problems)
  return { problems, ...(manifest !== undefined && !hasErrors(problems) && { manifest }) }
}

function readRoot(root: TreeNode | undefined, report: Report): StepType | undefined {
  const start = { start: 0, end: 0 }
  if (root?.kind !== 'map') {
    report.error('wrong-type', start, 'a step type must be an object', { hint: 'It has kind, metadata and spec.' })
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
    report.error('invalid-value', name.range, `"name" must be a name or account/name of letters, digits and . _ -`, {
      path: 'metadata.name',
    })
  }
  const text = textOf(version)
  if (version !== undefined && text !== undefined && !isVersion(text)) {
    report.error('invalid-value', version.range, `"version" must be a semantic version. Current value: ${text.slice(0, 60)}`, {
      path: 'metadata.version',
      hint: 'Write three numbers, such as 1.0.0.',
    })
  }
}

function readSteps(
  spec: MapNode,
  { report, range }: { report: Report; range: { start: number; end: number } },
): StepType['steps'] | undefined {
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
      hint: 'A step type has "steps" or "stepsTemplate".',
    })
  return undefined
}

function readDelimiters(written: unknown): { left: string; right: string } {
  const usual = { left: '{{', right: '}}' }
  if (typeof written !== 'object' || written === null) return usual
  const { left, right } = { ...usual, ...written }
  return { left: String(left), right: String(right) }
}
