/** A pipeline document to a Plan, or to all that is wrong with it. */
import type { Plan, PlanStep, VariableLayer } from '@windlass/plan'
import { checkFields, numberOf } from './check.ts'
import { compileStep } from './compile-step.ts'
import type { StepPlace } from './compile-step.ts'
import type { Diagnostic } from './diagnostic.ts'
import { hasErrors, sortProblems } from './diagnostic.ts'
import * as read from './fields.ts'
import type { Entries } from './fields.ts'
import { ROOT } from './language.ts'
import { parseYaml } from './parse.ts'
import type { Source } from './parse.ts'
import { pipelineSpec } from './pipeline-document.ts'
import { Report } from './report.ts'
import type { Range } from './source.ts'
import { checkFolded, checkIndentation } from './text-checks.ts'
import type { Entry, TreeNode } from './tree.ts'

export interface CompileOptions {
  /** Goes to the plan as it is, lowest precedence first. */
  readonly variables?: readonly VariableLayer[]
}

export interface Compiled {
  /** Absent when there are errors. */
  readonly plan?: Plan
  /** All problems of the document, by position; warnings alone do not stop it. */
  readonly problems: readonly Diagnostic[]
}

/** Compiles an inline document or a `kind: pipeline` document. Pure and bounded; never throws. */
export function compile(source: Source, options: CompileOptions = {}): Compiled {
  const parsed = parseYaml(source)
  const report = new Report(parsed.source)
  report.problems.push(...parsed.problems)
  checkIndentation(report, hasErrors(parsed.problems))
  if (hasErrors(parsed.problems)) return { problems: sortProblems(report.problems) }
  checkFolded(report)
  const plan = compileRoot(parsed.root, report, options.variables ?? [])
  const problems = sortProblems(report.problems)
  return { problems, ...(plan !== undefined && !hasErrors(problems) && { plan }) }
}

function compileRoot(root: TreeNode | undefined, report: Report, variables: readonly VariableLayer[]): Plan | undefined {
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
  if (!root.entries.has('kind')) return compileDocument(root.entries, { start: root.range.start, path: '', report, variables })
  const spec = pipelineSpec(root, report)
  return spec === undefined ? undefined : compileDocument(spec.entries, { start: spec.start, path: 'spec', report, variables })
}

interface DocumentPlace {
  readonly start: number
  readonly path: '' | 'spec'
  readonly report: Report
  readonly variables: readonly VariableLayer[]
}

function compileDocument(written: Entries, place: DocumentPlace): Plan | undefined {
  const { report, variables } = place
  const entries = new Map([...written].filter(([key]) => place.path === '' || Object.hasOwn(ROOT, key)))
  const range = { start: place.start, end: place.start }
  if (place.path === 'spec' && !entries.has('version')) entries.set('version', versionEntry(range))
  const template = written.get('specTemplate')
  if (place.path === 'spec' && template !== undefined) {
    report.error('not-yet-supported', template.keyRange, 'steps behind "specTemplate" are not yet supported', {
      path: 'spec.specTemplate',
      hint: 'Put the steps in "spec".',
    })
    return undefined
  }
  checkFields(entries, ROOT, { spot: { key: 'document', path: place.path }, report, open: false, range })
  checkVersion(entries, report)
  if (read.text(entries, 'mode') === 'parallel') {
    report.error('not-yet-supported', entries.get('mode')?.value.range ?? range, '"mode: parallel" is not yet supported', {
      path: 'mode',
      hint: 'Remove it to run the steps one after the other.',
    })
  }
  return {
    planVersion: 1,
    mode: 'serial',
    stages: read.texts(entries, 'stages') ?? [],
    failFast: read.flag(entries, 'fail_fast') ?? true,
    strictFailFast: read.flag(entries, 'strict_fail_fast') ?? false,
    steps: compileSteps(entries, report),
    variables,
  }
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

function compileSteps(entries: Entries, report: Report): PlanStep[] {
  const written = entries.get('steps')?.value
  if (written === undefined) return []
  if (written.kind !== 'map') {
    report.error('wrong-type', written.range, '"steps" must be an object', {
      path: 'steps',
      hint: 'Write the name of each step as a key below "steps".',
    })
    return []
  }
  const list = [...written.entries.values()]
  const place: Omit<StepPlace, 'after'> = {
    report,
    names: { order: new Map(list.map(({ key }, index) => [key, index])) },
    stages: read.texts(entries, 'stages') ?? [],
    failFast: read.flag(entries, 'fail_fast') ?? true,
    buildVersion: read.text(entries, 'build_version') === 'v1' ? 'v1' : 'v2',
  }
  return list.flatMap((entry, index) => {
    const before = list[index - 1]
    return compileStep(entry, { ...place, after: before === undefined ? [] : [before.key] }) ?? []
  })
}
