/** Converts problems to the shape of the Codefresh validator, for tools that parse it. */
import type { Diagnostic, DiagnosticCode } from '../language/diagnostic.ts'
import { STEP_TYPES } from '../actions/index.ts'
import type { SourceText } from '../syntax/source.ts'

export interface CodefreshProblem {
  readonly message: string
  /** `Validation` for problems found by the tables and rules of the language, otherwise the severity of the check. */
  readonly type: 'Validation' | 'Error' | 'Warning'
  /** `workflow`, `steps`, or the subject of the check, such as `registry`. */
  readonly path: string
  readonly context: { readonly key: string }
  readonly level: 'workflow' | 'step'
  readonly stepName?: string
  readonly docsLink?: string
  /** The hint. */
  readonly actionItems?: string
  /** Line of the problem. */
  readonly lines: number
  /** Number of the check, if it has one. */
  readonly code?: number
  readonly suggestion?: { readonly from: string; readonly to: string }
}

export interface CodefreshProblemOptions {
  /** Base URL of the documentation without a trailing slash; no links if absent. */
  readonly docsUrl?: string
  /** Step types by step name, for links to their pages. */
  readonly types?: ReadonlyMap<string, string>
  /** The text, to number lines like the Codefresh validator: 0 without a step, else the first line with `step:`, then with `field:`. */
  readonly codefreshLines?: SourceText
}

interface Check {
  readonly number?: number
  readonly path: string
  /** Page of the documentation, relative to docs/. */
  readonly page?: string
}

const INTEGRATIONS = 'guides/validating.md#integrations'

/** Checks outside the tables: their numbers and subjects. */
const CHECKS: Partial<Record<DiagnosticCode, Check>> = {
  'git-missing': { number: 100, path: 'git', page: INTEGRATIONS },
  'git-variable': { number: 101, path: 'variables', page: 'guides/pipelines.md#variables' },
  'git-unknown': { number: 102, path: 'git', page: INTEGRATIONS },
  'git-implied': { number: 103, path: 'git', page: INTEGRATIONS },
  'registry-missing': { number: 200, path: 'registry', page: INTEGRATIONS },
  'registry-variable': { number: 201, path: 'variables', page: 'guides/pipelines.md#variables' },
  'registry-unknown': { number: 202, path: 'registry', page: INTEGRATIONS },
  'registry-needed': { number: 202, path: 'registry', page: INTEGRATIONS },
  'registry-implied': { number: 203, path: 'registry', page: INTEGRATIONS },
  'registry-required': { number: 204, path: 'registry', page: INTEGRATIONS },
  'registry-none': { number: 205, path: 'registry', page: INTEGRATIONS },
  'aws-access': { number: 206, path: 'registry', page: INTEGRATIONS },
  'gcb-access': { number: 206, path: 'registry', page: INTEGRATIONS },
  'registry-twice': { number: 207, path: 'registry_contexts', page: INTEGRATIONS },
  'cluster-missing': { number: 300, path: 'cluster', page: INTEGRATIONS },
  'cluster-variable': { number: 301, path: 'variables', page: 'guides/pipelines.md#variables' },
  'cluster-unknown': { number: 302, path: 'cluster', page: INTEGRATIONS },
  'cluster-implied': { number: 303, path: 'cluster', page: INTEGRATIONS },
  'mixed-indentation': { number: 400, path: 'indention' },
  'folded-indentation': { number: 500, path: 'indention' },
  'helm-version': { number: 601, path: 'helm' },
  'step-version': { path: 'type', page: 'guides/validating.md#versions-of-typed-steps' },
  'uppercase-image': { path: 'image_name' },
}

/** Converts a problem to the Codefresh shape, with its real line unless `codefreshLines` is set. */
export function toCodefreshProblem(problem: Diagnostic, options: CodefreshProblemOptions = {}): CodefreshProblem {
  const check = CHECKS[problem.code]
  const step = stepOf(problem.path)
  const link = docsLink(check, step, options)
  const key = keyOf(problem.path)
  return {
    message: problem.message,
    type: check === undefined && problem.severity === 'error' ? 'Validation' : problem.severity === 'error' ? 'Error' : 'Warning',
    path: check?.path ?? (step === undefined ? 'workflow' : 'steps'),
    context: { key },
    level: step === undefined ? 'workflow' : 'step',
    ...(step !== undefined && { stepName: step }),
    ...(link !== undefined && { docsLink: link }),
    ...(problem.hint !== '' && { actionItems: problem.hint }),
    lines:
      options.codefreshLines === undefined ? problem.line : codefreshLine(problem, { step, key, text: options.codefreshLines }),
    ...(check?.number !== undefined && { code: check.number }),
    ...(problem.suggestion !== undefined && { suggestion: problem.suggestion }),
  }
}

const HOLDERS = new Set(['steps', 'scale'])

/** Returns the innermost step in a path such as `steps.group.steps.one.image`. */
export function stepOf(path: string): string | undefined {
  const parts = path.replace(/^spec\./, '').split('.')
  let step: string | undefined
  for (let at = 0; at + 1 < parts.length;) {
    const part = parts[at] ?? ''
    if (part === 'hooks' || (step === undefined && part.startsWith('on_'))) at += part === 'hooks' ? 2 : 1
    else if (HOLDERS.has(part)) {
      step = parts[at + 1]
      at += 2
    } else break
  }
  return step
}

/** Returns the last field of a path, or the index if it ends in a list. A reference is one part, including its dots. */
function keyOf(path: string): string {
  const close = path.lastIndexOf('}}')
  const dot = path.lastIndexOf('.')
  const from = dot > close ? dot : path.lastIndexOf('.', path.lastIndexOf('${{', close))
  const last = path.slice(from + 1)
  return /\[(\d+)\]$/.exec(last)?.[1] ?? last
}

function docsLink(
  check: Check | undefined,
  step: string | undefined,
  { docsUrl, types }: CodefreshProblemOptions,
): string | undefined {
  if (docsUrl === undefined || docsUrl === '') return undefined
  if (check?.page !== undefined) return `${docsUrl}/${check.page}`
  const type = step === undefined ? undefined : types?.get(step)
  return type === undefined || !Object.hasOwn(STEP_TYPES, type) ? docsUrl : `${docsUrl}/guides/steps/${type}.md`
}

function codefreshLine(
  { line, code }: Diagnostic,
  { step, key, text }: { step: string | undefined; key: string; text: SourceText },
): number {
  if (code === 'mixed-indentation') return line - 1
  if (step === undefined) return 0
  const lines = text.lines()
  const ofStep = lines.findIndex((one) => one.includes(`${step}:`))
  if (ofStep < 0) return 0
  const ofKey = lines.findIndex((one, index) => index >= ofStep && one.includes(`${key}:`))
  return (ofKey < 0 ? ofStep : ofKey) + 1
}
