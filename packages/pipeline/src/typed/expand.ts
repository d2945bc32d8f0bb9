/** Expands a typed step to its steps: finds its type, checks its arguments, renders its template. Does not compile anything. */
import type { JsonTemplate, Scope, TypedStep } from '@windlass/plan'
import { hasErrors } from '../language/diagnostic.ts'
import type { Diagnostic } from '../language/diagnostic.ts'
import { parseYaml } from '../syntax/parse.ts'
import { Report } from '../syntax/report.ts'
import type { Range, SourceText } from '../syntax/source.ts'
import { renderTemplate } from '../template/render-template.ts'
import { TemplateError } from '../template/template-error.ts'
import { toValue } from '../syntax/tree.ts'
import type { MapNode, TreeNode } from '../syntax/tree.ts'
import type { CatalogEntry } from './catalog.ts'
import { findStepType } from './find-step-type.ts'
import type { TypeLookup } from './find-step-type.ts'
import { fillKnown, typeOf, withBudget } from './known-variables.ts'
import { readStepType } from './manifest.ts'
import type { StepTypeManifest } from './manifest.ts'
import { checkArguments, toJson, withDefaults } from './schema.ts'
import { parseStepTypeName } from './step-type-name.ts'

export interface TypedUse extends TypeLookup {
  /** The node under `arguments`. */
  readonly arguments: TreeNode | undefined
  /** Range of the step name, where missing arguments are reported. */
  readonly range: Range
  /** Variables that are known before the build starts; none if absent. */
  readonly known: Scope | undefined
}

export interface Expansion {
  readonly typed: TypedStep
  readonly steps: MapNode
  /** Collects problems of the parts; positions refer to the manifest or the rendered text. */
  readonly report: Report
  readonly inside: readonly string[]
}

const NOTHING_KNOWN: Scope = { lookup: () => undefined }

/** Expands a typed step. Reports problems and returns undefined if it cannot be used. */
export function expandTypedStep(use: TypedUse): Expansion | undefined {
  const entry = findStepType(use)
  if (entry === 'elsewhere') return unknownSteps(use)
  if (entry === undefined) return undefined
  const manifest = manifestOf(entry, use)
  if (manifest === undefined) return undefined
  const values = readArguments(use, manifest)
  if (values === undefined) return undefined
  use.context.used.add(entry)
  const steps = 'map' in manifest.steps ? { map: manifest.steps.map, source: manifest.source } : render(use, manifest, values)
  if (steps === undefined) return undefined
  const report = new Report(steps.source, use.report.suggestions)
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

/** Returns the expansion of a step whose type only the server knows: without arguments to check, and without steps. */
function unknownSteps({ type, report, inside }: TypedUse): Expansion {
  const { name, version = '' } = parseStepTypeName(type.written)
  const steps: MapNode = { kind: 'map', range: type.range, entries: new Map() }
  return { typed: { type: name, version, arguments: {} }, steps, report, inside: [...inside, name] }
}

function manifestOf(entry: CatalogEntry, { type, path, report, context }: TypedUse): StepTypeManifest | undefined {
  const read = context.manifests.get(entry) ?? readStepType({ text: entry.text, file: label(entry) })
  context.manifests.set(entry, read)
  const { manifest, problems } = read
  if (manifest !== undefined) return manifest
  const [first] = problems.filter(({ severity }) => severity === 'error')
  report.error('step-type', type.range, `step type ${label(entry)} cannot be used: ${describeProblem(first)}`, {
    path: `${path}.type`,
  })
  return undefined
}

function label({ name, version }: { readonly name: string; readonly version: string }): string {
  return `${name}:${version}`
}

function describeProblem(problem: Diagnostic | undefined): string {
  return problem === undefined ? 'unknown problem' : `line ${problem.line}: ${problem.message}`
}

function readArguments(use: TypedUse, manifest: StepTypeManifest): Record<string, JsonTemplate> | undefined {
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
      hint: `Arguments of ${label(manifest)}: ${Object.keys(manifest.arguments.properties).slice(0, 50).join(', ') || 'none'}.`,
    })
  }
  return problems.length === 0 ? values : undefined
}

/** Checks the arguments with all known variables substituted, as they will be when the step runs. */
function check(
  values: Record<string, JsonTemplate>,
  { known: scope }: TypedUse,
  manifest: StepTypeManifest,
): ReturnType<typeof checkArguments> {
  const known = fillAll(values, scope, manifest)
  try {
    return checkArguments(known, manifest.arguments)
  } catch (error) {
    return [
      {
        path: [],
        message: `the schema of ${label(manifest)} is invalid: ${error instanceof Error ? error.message.slice(0, 200) : ''}`,
      },
    ]
  }
}

function fillAll(
  values: Record<string, JsonTemplate>,
  scope: Scope | undefined,
  manifest: StepTypeManifest,
): Record<string, JsonTemplate> {
  const filled = fillKnown(values, withBudget(scope ?? NOTHING_KNOWN), manifest.arguments.whole)
  return isRecord(filled) ? filled : {}
}

function isRecord(value: JsonTemplate): value is Record<string, JsonTemplate> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Returns the range of the deepest node on the path that is written in the document. */
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
  manifest: StepTypeManifest,
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
        `the template of ${label(manifest)} depends on a value that is not known when the build is created`,
        {
          path: `${path}.arguments`,
          hint: `Line ${guess.line} of its template compares a text that still contains a variable. Set the variable before the build starts, or write the value.`,
        },
      )
    }
    const parsed = parseYaml({ text, file: `${label(manifest)} (rendered)` })
    if (parsed.root?.kind === 'map' && parsed.root.entries.size > 0) return { map: parsed.root, source: parsed.source }
    const [first] = parsed.problems.filter((problem) => hasErrors([problem]))
    const why =
      first === undefined
        ? 'it is not a map of steps'
        : `${describeProblem(first)}: ${parsed.source.line(first.line).slice(0, 200)}`
    report.error('step-template', type.range, `the rendered template of ${label(manifest)} is invalid: ${why}`, details)
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

function unknownFlags(values: Record<string, JsonTemplate>, manifest: StepTypeManifest): Set<string> {
  const { properties } = manifest.arguments
  return new Set(
    Object.entries(values).flatMap(([name, value]) =>
      typeof value === 'string' && value.includes('${{') && typeOf(properties[name]) === 'boolean' ? [value] : [],
    ),
  )
}
