/** A pipeline document to a Plan, or to all that is wrong with it. */
import { buildScope } from '@windlass/plan'
import type { JsonTemplate, Plan, Scope, VariableLayer } from '@windlass/plan'
import { checkFields, numberOf } from './check.ts'
import { draftBuildHooks } from './compile-hooks.ts'
import { toCriteria } from './compile-criteria.ts'
import { toServiceSet } from './compile-services.ts'
import { toResources, toSource } from './compile-sources.ts'
import { compileDraft } from './compile-step.ts'
import { UNKNOWN_ACCOUNT } from './context/account.ts'
import type { AccountContext } from './context/account.ts'
import type { Diagnostic } from './diagnostic.ts'
import { hasErrors, sortProblems } from './diagnostic.ts'
import { draftSteps } from './draft-steps.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import { ROOT } from './language.ts'
import { parseYaml } from './parse.ts'
import type { Source } from './parse.ts'
import { pipelineSpec } from './pipeline-document.ts'
import { Report } from './report.ts'
import { isRootKey, rootFailFast, settleRoot } from './root-fields.ts'
import type { Range } from './source.ts'
import { checkBreakpoints, reportCircles } from './static-checks.ts'
import type { Draft, Drafting } from './step-draft.ts'
import { StepNames } from './step-names.ts'
import { checkFolded, checkIndentation } from './text-checks.ts'
import type { CatalogEntry, StepCatalog } from './typed/catalog.ts'
import { openTyped, problemsInside } from './typed/typed-context.ts'
import type { TypedContext } from './typed/typed-context.ts'
import type { Entry, TreeNode } from './tree.ts'
import { child } from './tree.ts'

export interface CompileOptions {
  /** Goes to the plan as it is, lowest precedence first. */
  readonly variables?: readonly VariableLayer[]
  /** Stored compositions by name. */
  readonly compositions?: Readonly<Record<string, JsonTemplate>>
  /** Where typed steps are found. Without one they are not checked, and a document that has some gives no plan. */
  readonly stepTypes?: StepCatalog
  /** The account that the pipeline is for: what steps name there is checked (pipeline language 8.6, codes 100 to 601). */
  readonly account?: AccountContext
}

export interface Compiled {
  /** Absent when there are errors. */
  readonly plan?: Plan
  /** All problems of the document, by position; warnings alone do not stop it. */
  readonly problems: readonly Diagnostic[]
  /** The step types that it uses, each once: what must be kept to compile it again to the same. */
  readonly stepTypes: readonly CatalogEntry[]
}

/** Compiles an inline document or a `kind: pipeline` document. Pure and bounded; never throws. */
export function compile(source: Source, options: CompileOptions = {}): Compiled {
  const parsed = parseYaml(source)
  const report = new Report(parsed.source)
  report.problems.push(...parsed.problems)
  checkIndentation(report, hasErrors(parsed.problems))
  if (hasErrors(parsed.problems)) return { problems: sortProblems(report.problems), stepTypes: [] }
  checkFolded(report)
  const typed = openTyped(options.stepTypes)
  const plan = compileRoot(parsed.root, { report, options, typed })
  const problems = [...sortProblems(report.problems), ...problemsInside(typed)]
  const isComplete = !typed.skipped && !hasErrors(problems)
  return { problems, stepTypes: [...typed.used], ...(plan !== undefined && isComplete && { plan }) }
}

function compileRoot(root: TreeNode | undefined, of: Pick<DocumentPlace, 'report' | 'options' | 'typed'>): Plan | undefined {
  const { report } = of
  if (root?.kind !== 'map') {
    report.error(
      'wrong-type',
      { start: 0, end: 0 },
      root === undefined ? 'the document is empty' : 'the document must be an object',
      {
        hint: 'A pipeline has at least "version" and "steps".',
      },
    )
    return undefined
  }
  if (!root.entries.has('kind')) return compileDocument(root.entries, { ...of, start: root.range.start, path: '' })
  const spec = pipelineSpec(root, report)
  return spec === undefined ? undefined : compileDocument(spec.entries, { ...of, start: spec.start, path: 'spec' })
}

interface DocumentPlace {
  readonly start: number
  readonly path: '' | 'spec'
  readonly report: Report
  readonly options: CompileOptions
  readonly typed: TypedContext
}

function compileDocument(written: Entries, place: DocumentPlace): Plan | undefined {
  const { report, options } = place
  const entries = new Map([...written].filter(([key]) => place.path === '' || isRootKey(key)))
  const range = { start: place.start, end: place.start }
  if (place.path === 'spec' && !entries.has('version')) entries.set('version', versionEntry(range))
  const source = place.path === 'spec' ? toSource(written) : undefined
  const resources = place.path === 'spec' ? toResources(written, report) : undefined
  if (source !== undefined) return { ...emptyPlan(options), source, ...read.when('externalResources', resources) }
  settleRoot(entries, place)
  checkFields(entries, ROOT, { spot: { key: 'document', path: place.path }, report, open: false, range })
  checkVersion(entries, report)
  const debug = child(written.get('debug')?.value, 'steps')
  const drafting = toDrafting(entries, { ...place, debug })
  const roots = draftRoots(entries, drafting, report)
  const hooks = draftHooksOf(entries, drafting, report)
  const steps = [...roots, ...hooks].flatMap((draft) => compileDraft(draft, drafting))
  if (drafting.mode === 'parallel') reportCircles(steps, drafting)
  checkBreakpoints(debug, drafting, report)
  const services = read.map(entries, 'services')?.entries
  const criteria = toCriteria(entries, roots, { report, path: '', drafting, draft: undefined, atEnd: true, severity: 'error' })
  if ([...drafting.names.all()].some(({ body }) => body.kind === 'unknown')) return undefined
  return {
    planVersion: 1,
    mode: drafting.mode,
    stages: [...drafting.stages],
    failFast: rootFailFast(entries),
    strictFailFast: read.flag(entries, 'strict_fail_fast') ?? false,
    ...read.when('successCriteria', criteria),
    ...read.when('services', services === undefined ? undefined : toServiceSet(services, drafting)),
    steps,
    ...read.when('externalResources', resources),
    variables: options.variables ?? [],
  }
}

/** What is known of a pipeline whose steps stand elsewhere. */
function emptyPlan({ variables = [] }: CompileOptions): Plan {
  return { planVersion: 1, mode: 'serial', stages: [], failFast: true, strictFailFast: false, steps: [], variables }
}

function toDrafting(
  entries: Entries,
  { options, debug, typed }: DocumentPlace & { readonly debug: TreeNode | undefined },
): Drafting {
  const names = new StepNames()
  const serviceName = read.text(read.map(entries, 'services')?.entries ?? new Map<string, Entry>(), 'name')
  return {
    names,
    isStep: (name) => names.find(name, undefined) !== undefined,
    compositions: options.compositions ?? {},
    account: options.account ?? UNKNOWN_ACCOUNT,
    stages: new Set(read.texts(entries, 'stages')),
    mode: read.text(entries, 'mode') === 'parallel' ? 'parallel' : 'serial',
    buildVersion: read.text(entries, 'build_version') === 'v1' ? 'v1' : 'v2',
    variables: options.variables === undefined ? undefined : scopeOf(options.variables),
    serviceNames: serviceName === undefined ? [] : [serviceName],
    typed,
    breakpoints: new Map(debug?.kind === 'map' ? [...debug.entries.values()].map(({ key, value }) => [key, value]) : []),
  }
}

/** What variables say before any step has run. */
function scopeOf(variables: readonly VariableLayer[]): Scope {
  const plan: Plan = { planVersion: 1, mode: 'serial', stages: [], failFast: true, strictFailFast: false, steps: [], variables }
  return buildScope({ plan, snapshot: { steps: {}, exports: [] } })
}

function draftRoots(entries: Entries, drafting: Drafting, report: Report): Draft[] {
  const written = entries.get('steps')?.value
  if (written === undefined) return []
  if (written.kind !== 'map') {
    report.error('wrong-type', written.range, '"steps" must be an object', {
      path: 'steps',
      hint: 'Write the name of each step as a key below "steps".',
    })
    return []
  }
  const failFast = rootFailFast(entries)
  return draftSteps(written, { drafting, report, path: 'steps', prefix: '', mode: drafting.mode, failFast })
}

function draftHooksOf(entries: Entries, drafting: Drafting, report: Report): Draft[] {
  const hooks = entries.get('hooks')?.value
  return draftBuildHooks(hooks, { drafting, report, path: 'hooks', prefix: '', mode: 'serial', failFast: true })
}

function versionEntry(range: Range): Entry {
  return { key: 'version', keyRange: range, value: { kind: 'scalar', range, value: '1.0', style: 'plain', written: '1.0' } }
}

function checkVersion(entries: Entries, report: Report): void {
  const written = entries.get('version')?.value
  if (written === undefined || numberOf(written) === 1) return
  const shown = written.kind === 'scalar' ? written.written || String(written.value) : 'an object'
  report.error('unknown-version', written.range, `Current version: ${shown} is invalid. please change version to 1.0`, {
    path: 'version',
  })
}
