/** A typed step becomes the steps it stands for: its type found, its arguments checked, its template rendered. Nothing is compiled here. */
import { nearMiss } from '@windlass/plan'
import type { JsonTemplate, Scope, TypedStep } from '@windlass/plan'
import { hasErrors } from '../diagnostic.ts'
import type { Diagnostic } from '../diagnostic.ts'
import { parseYaml } from '../parse.ts'
import { Report } from '../report.ts'
import type { Range, SourceText } from '../source.ts'
import { meantType, TYPE_NAMES } from '../read-type.ts'
import { renderTemplate } from '../template/render-template.ts'
import { TemplateError } from '../template/template-error.ts'
import { toValue } from '../tree.ts'
import type { MapNode, TreeNode } from '../tree.ts'
import type { CatalogEntry, StepCatalog } from './catalog.ts'
import { fillKnown, typeOf, withBudget } from './known-variables.ts'
import { readStepType } from './manifest.ts'
import type { StepType } from './manifest.ts'
import { checkArguments, toJson, withDefaults } from './schema.ts'
import { parseStepTypeName } from './step-type-name.ts'
import type { TypedContext } from './typed-context.ts'

export interface TypedUse {
  readonly type: { readonly written: string; readonly range: Range }
  /** The node under `arguments`. */
  readonly arguments: TreeNode | undefined
  /** Of the step's name, for what is missing. */
  readonly range: Range
  readonly path: string
  readonly report: Report
  readonly context: TypedContext
  /** What is known before the build starts; nothing when absent. */
  readonly known: Scope | undefined
  /** Names of the types that this step is inside of, outermost first. */
  readonly inside: readonly string[]
}

export interface Expansion {
  readonly typed: TypedStep
  readonly steps: MapNode
  /** Where problems of the parts go; its positions are those of the manifest or of the rendered text. */
  readonly report: Report
  readonly inside: readonly string[]
}

const NOTHING_KNOWN: Scope = { lookup: () => undefined }

/** Typed steps inside typed steps, at most. */
export const MAX_TYPED_DEPTH = 8

/** The parts of a typed step; undefined when it cannot be used, which the report tells. */
export function expandTypedStep(use: TypedUse): Expansion | undefined {
  const entry = resolve(use)
  if (entry === undefined) return undefined
  const manifest = manifestOf(entry, use)
  if (manifest === undefined) return undefined
  const values = readArguments(use, manifest)
  if (values === undefined) return undefined
  use.context.used.add(entry)
  const steps = 'map' in manifest.steps ? { map: manifest.steps.map, source: manifest.source } : render(use, manifest, values)
  if (steps === undefined) return undefined
  const report = new Report(steps.source)
  use.context.reports.push(report)
  return {
    typed: {
      type: manifest.name,
      version: manifest.version,
      arguments: values,
      ...(manifest.returns !== undefined && { returns: manifest.returns }),
    },
    steps: steps.map,
    report,
    inside: [...use.inside, manifest.name],
  }
}

function resolve({ type, path, report, context, inside }: TypedUse): CatalogEntry | undefined {
  const { name, version } = parseStepTypeName(type.written)
  if (inside.length >= MAX_TYPED_DEPTH) {
    report.error(
      'step-type',
      type.range,
      `typed steps are nested more than ${MAX_TYPED_DEPTH} deep: ${[...inside, name].join(' > ')}`,
      {
        path: `${path}.type`,
      },
    )
    return undefined
  }
  const { catalog } = context
  if (catalog === undefined) {
    context.skipped = true
    tellUnchecked(name, { type, path, report })
    return undefined
  }
  const found = catalog.find(name, version === '' ? undefined : version)
  if (found !== undefined) return found
  tellUnknown({ name, version, catalog }, { type, path, report })
  return undefined
}

/** Without a catalog only what is probably a type of the language is wrong. */
function tellUnchecked(name: string, { type, path, report }: Pick<TypedUse, 'type' | 'path' | 'report'>): void {
  const close = meantType(name.slice(0, 150))
  const where = `${path}.type`
  if (close === undefined)
    return report.warning(
      'step-type',
      type.range,
      `the step type "${name.slice(0, 150)}" is not known here; the step is not checked`,
      { path: where },
    )
  report.error('step-type', type.range, `there is no step type "${name.slice(0, 150)}". Did you mean "${close}"?`, {
    path: where,
    suggestion: { from: name, to: close },
  })
}

function tellUnknown(
  { name, version, catalog }: { name: string; version: string | undefined; catalog: StepCatalog },
  { type, path, report }: Pick<TypedUse, 'type' | 'path' | 'report'>,
): void {
  const latest = catalog.find(name, undefined)
  if (latest !== undefined) {
    return report.error('step-type', type.range, `there is no version ${version ?? ''} of the step type "${name}"`, {
      path: `${path}.type`,
      hint: `The latest version is ${latest.version}.`,
    })
  }
  const close = nearMiss(name.slice(0, 150), [...TYPE_NAMES, ...catalog.names()])
  const question = close === undefined ? '' : `. Did you mean "${close}"?`
  report.error('step-type', type.range, `there is no step type "${name.slice(0, 150)}"${question}`, {
    path: `${path}.type`,
    hint: 'Create it from its manifest, or use one of the types of the language.',
    ...(close !== undefined && { suggestion: { from: name, to: close } }),
  })
}

function manifestOf(entry: CatalogEntry, { type, path, report, context }: TypedUse): StepType | undefined {
  const read = context.manifests.get(entry) ?? readStepType({ text: entry.text, file: label(entry) })
  context.manifests.set(entry, read)
  const { manifest, problems } = read
  if (manifest !== undefined) return manifest
  const [first] = problems.filter(({ severity }) => severity === 'error')
  report.error('step-type', type.range, `the step type ${label(entry)} cannot be used: ${tell(first)}`, { path: `${path}.type` })
  return undefined
}

function label({ name, version }: { readonly name: string; readonly version: string }): string {
  return `${name}:${version}`
}

function tell(problem: Diagnostic | undefined): string {
  return problem === undefined ? 'it is wrong' : `line ${problem.line}: ${problem.message}`
}

function readArguments(use: TypedUse, manifest: StepType): Record<string, JsonTemplate> | undefined {
  const { arguments: written, report, path, range } = use
  const isEmpty = written === undefined || (written.kind === 'scalar' && (written.value === null || written.value === ''))
  if (!isEmpty && written.kind !== 'map') {
    report.error('wrong-type', written.range, '"arguments" must be an object', { path: `${path}.arguments` })
    return undefined
  }
  const given = isEmpty ? {} : toJson(toValue(written))
  const values = withDefaults(isRecord(given) ? given : {}, manifest.arguments)
  const problems = check(values, use, manifest)
  for (const problem of problems) {
    const node = nodeAt(isEmpty ? undefined : written, problem.path)
    report.error('step-arguments', node ?? range, problem.message, {
      path: [`${path}.arguments`, ...problem.path].join('.'),
      hint: `The arguments of ${label(manifest)}: ${Object.keys(manifest.arguments.properties).slice(0, 50).join(', ') || 'none'}.`,
    })
  }
  return problems.length === 0 ? values : undefined
}

/** Checked with what is known filled in, as they will be when the step runs. */
function check(
  values: Record<string, JsonTemplate>,
  { known: scope }: TypedUse,
  manifest: StepType,
): ReturnType<typeof checkArguments> {
  const known = fillAll(values, scope, manifest)
  try {
    return checkArguments(known, manifest.arguments)
  } catch (error) {
    return [
      {
        path: [],
        message: `the schema of ${label(manifest)} cannot be used: ${error instanceof Error ? error.message.slice(0, 200) : ''}`,
      },
    ]
  }
}

function fillAll(
  values: Record<string, JsonTemplate>,
  scope: Scope | undefined,
  manifest: StepType,
): Record<string, JsonTemplate> {
  const filled = fillKnown(values, withBudget(scope ?? NOTHING_KNOWN), manifest.arguments.whole)
  return isRecord(filled) ? filled : {}
}

function isRecord(value: JsonTemplate): value is Record<string, JsonTemplate> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The deepest node on the way that is written. */
function nodeAt(written: TreeNode | undefined, path: readonly string[]): Range | undefined {
  let at: TreeNode | undefined = written
  let range: Range | undefined
  for (const part of path) {
    const entry: { keyRange: Range; value: TreeNode } | undefined = at?.kind === 'map' ? at.entries.get(part) : undefined
    at = entry?.value ?? (at?.kind === 'list' ? at.items[Number(part)] : undefined)
    if (at === undefined) break
    range = at.kind === 'scalar' && at.value !== null ? at.range : (entry?.keyRange ?? at.range)
  }
  return range
}

function render(
  use: TypedUse,
  manifest: StepType,
  values: Record<string, JsonTemplate>,
): { map: MapNode; source: SourceText } | undefined {
  if (!('template' in manifest.steps)) return undefined
  const { template, delimiters } = manifest.steps
  const { type, report, path, known, context } = use
  const details = { path: `${path}.type` }
  const filled = fillAll(values, known, manifest)
  const flags = unknownFlags(filled, manifest)
  try {
    const { text, guesses } = renderTemplate(String(template.value), {
      data: { Arguments: filled },
      delimiters,
      budget: context.budget,
      unknowns: { isUnknown: (value) => value.includes('${{'), isUnknownFlag: (value) => flags.has(value) },
    })
    const [guess] = guesses
    if (guess !== undefined) {
      report.warning(
        'step-template',
        use.arguments?.range ?? type.range,
        `${label(manifest)} decides by a value that is not known when the build is made`,
        {
          path: `${path}.arguments`,
          hint: `Line ${guess.line} of its template compares a text that still holds a variable. Set the variable before the build starts, or write the value.`,
        },
      )
    }
    const parsed = parseYaml({ text, file: `${label(manifest)} (rendered)` })
    if (parsed.root?.kind === 'map' && parsed.root.entries.size > 0) return { map: parsed.root, source: parsed.source }
    const [first] = parsed.problems.filter((problem) => hasErrors([problem]))
    const why = first === undefined ? 'it is no map of steps' : `${tell(first)}: ${parsed.source.line(first.line).slice(0, 200)}`
    report.error('step-template', type.range, `the rendered template of ${label(manifest)} cannot be used: ${why}`, details)
  } catch (error) {
    if (!(error instanceof TemplateError)) throw error
    const place = `line ${error.line}, column ${error.column}`
    report.error(
      'step-template',
      type.range,
      `the template of ${label(manifest)} cannot be rendered: ${place}: ${error.message}`,
      details,
    )
  }
  return undefined
}

function unknownFlags(values: Record<string, JsonTemplate>, manifest: StepType): Set<string> {
  const { properties } = manifest.arguments
  return new Set(
    Object.entries(values).flatMap(([name, value]) =>
      typeof value === 'string' && value.includes('${{') && typeOf(properties[name]) === 'boolean' ? [value] : [],
    ),
  )
}
