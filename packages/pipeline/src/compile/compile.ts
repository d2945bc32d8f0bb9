/** Compiles a pipeline document to a Plan, or reports all its problems. */
import { emptyPlan, initialScope } from '@windlass/plan'
import type { JsonTemplate, MainClone, Plan, VariableLayer } from '@windlass/plan'
import { checkFields, numberOf } from '../language/check.ts'
import { draftBuildHooks } from '../draft/draft-hooks.ts'
import { toCriteria } from './compile-criteria.ts'
import { checkServices, toServiceSet } from './compile-services.ts'
import { toResources, toSource } from './compile-sources.ts'
import { compileDraft } from './compile-step.ts'
import { UNKNOWN_ACCOUNT } from '../context/account.ts'
import type { AccountContext } from '../context/account.ts'
import type { Diagnostic } from '../language/diagnostic.ts'
import { CLONE_HINT, addMainClone, findWithoutSource } from '../draft/main-clone.ts'
import { hasErrors, sortProblems } from '../language/diagnostic.ts'
import { draftSteps, draftStep } from '../draft/draft-steps.ts'
import * as read from '../language/fields.ts'
import type { Entries } from '../language/fields.ts'
import { ROOT } from '../language/language.ts'
import { parseYaml } from '../syntax/parse.ts'
import type { Source } from '../syntax/parse.ts'
import { pipelineSpec } from './pipeline-document.ts'
import { Report } from '../syntax/report.ts'
import { isRootKey, rootFailFast, normalizeRoot } from '../language/root-fields.ts'
import type { Range } from '../syntax/source.ts'
import { checkBreakpoints, reportCycles } from '../draft/static-checks.ts'
import type { Draft } from '../draft/step-draft.ts'
import { StepNames } from '../draft/step-names.ts'
import { checkFolded, checkIndentation } from '../syntax/text-checks.ts'
import type { CatalogEntry, StepCatalog } from '../typed/catalog.ts'
import { createTypedContext, problemsInside } from '../typed/typed-context.ts'
import type { TypedContext } from '../typed/typed-context.ts'
import type { Entry, TreeNode } from '../syntax/tree.ts'
import { child } from '../syntax/tree.ts'
import type { Drafting } from '../draft/drafting.ts'

export interface CompileOptions {
  /** Copied to the plan unchanged, lowest precedence first. */
  readonly variables?: readonly VariableLayer[]
  /** Stored compositions by name. */
  readonly compositions?: Readonly<Record<string, JsonTemplate>>
  /** Where typed steps are found. Without a catalog they are not checked, and a document that uses them gives no plan. */
  readonly stepTypes?: StepCatalog
  /** The account of the pipeline; names of its integrations are checked. */
  readonly account?: AccountContext
  /** Adds a step `main_clone` to a document without one. */
  readonly mainClone?: MainClone | undefined
  /** Warns about steps that need source code that nothing clones. For checks of a document by its author. */
  readonly checksSource?: boolean | undefined
}

export interface Compiled {
  /** Absent if there are errors. */
  readonly plan?: Plan
  /** All problems of the document, sorted by position. Warnings do not prevent a plan. */
  readonly problems: readonly Diagnostic[]
  /** The step types that the document uses, each once; keep them to compile it again to the same plan. */
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
  const typed = createTypedContext(options.stepTypes)
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
        hint: 'A pipeline needs at least "version" and "steps".',
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
  if (source !== undefined)
    return {
      ...emptyPlan(options.variables ?? []),
      source,
      ...read.when('externalResources', resources),
      ...read.when('mainClone', options.mainClone),
    }
  normalizeRoot(entries, place)
  checkFields(entries, ROOT, { spot: { key: 'document', path: place.path }, report, open: false, range })
  checkVersion(entries, report)
  const debug = child(written.get('debug')?.value, 'steps')
  const drafting = toDrafting(entries, { ...place, debug })
  addMainClone(entries, options.mainClone)
  const roots = draftRoots(entries, drafting, report)
  if (options.checksSource === true) checkSource(roots, drafting)
  const hooks = draftHooksOf(entries, drafting, report)
  const steps = [...roots, ...hooks].flatMap((draft) => compileDraft(draft, drafting))
  if (drafting.mode === 'parallel') reportCycles(steps, drafting)
  checkBreakpoints(debug, drafting, report)
  const services = read.map(entries, 'services')?.entries
  if (services !== undefined) checkServices(services, { report, path: place.path === '' ? 'services' : `${place.path}.services` })
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
    ...read.when('mainClone', options.mainClone),
    variables: options.variables ?? [],
  }
}

function toDrafting(
  entries: Entries,
  { options, debug, typed }: DocumentPlace & { readonly debug: TreeNode | undefined },
): Drafting {
  const names = new StepNames()
  const serviceName = read.text(read.map(entries, 'services')?.entries ?? new Map<string, Entry>(), 'name')
  return {
    drafter: { step: draftStep, steps: draftSteps },
    names,
    isStep: (name) => names.find(name, undefined) !== undefined,
    compositions: options.compositions ?? {},
    account: options.account ?? UNKNOWN_ACCOUNT,
    stages: new Set(read.texts(entries, 'stages')),
    mode: read.text(entries, 'mode') === 'parallel' ? 'parallel' : 'serial',
    buildVersion: read.text(entries, 'build_version') === 'v1' ? 'v1' : 'v2',
    variables: options.variables === undefined ? undefined : initialScope(options.variables),
    serviceNames: serviceName === undefined ? [] : [serviceName],
    typed,
    patterns: new Map(),
    breakpoints: new Map(debug?.kind === 'map' ? [...debug.entries.values()].map(({ key, value }) => [key, value]) : []),
  }
}

function draftRoots(entries: Entries, drafting: Drafting, report: Report): Draft[] {
  const written = entries.get('steps')?.value
  if (written === undefined) return []
  if (written.kind !== 'map') {
    report.error('wrong-type', written.range, '"steps" must be an object', {
      path: 'steps',
      hint: 'Write each step name as a key below "steps".',
    })
    return []
  }
  const failFast = rootFailFast(entries)
  return draftSteps(written, { drafting, report, path: 'steps', prefix: '', mode: drafting.mode, failFast })
}

/** Warns about a step that needs the source of a repository that nothing clones. */
function checkSource(roots: readonly Draft[], { mode }: Drafting): void {
  const draft = findWithoutSource(roots, mode)
  draft?.report.warning('no-source', draft.range, `step "${draft.key}" needs source code, but no step clones a repository`, {
    path: draft.path,
    hint: CLONE_HINT,
  })
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
