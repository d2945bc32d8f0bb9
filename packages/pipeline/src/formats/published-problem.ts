/** Problems in the shape that the published validator gives them (pipeline language 8.2), for tools that know it. */
import type { Diagnostic, DiagnosticCode } from '../diagnostic.ts'
import { STEP_TYPES } from '../language.ts'
import type { SourceText } from '../source.ts'

export interface PublishedProblem {
  readonly message: string
  /** `Validation` for what the tables and rules of the language say, else by the weight of the check. */
  readonly type: 'Validation' | 'Error' | 'Warning'
  /** `workflow`, `steps`, or what the check is about, such as `registry`. */
  readonly path: string
  readonly context: { readonly key: string }
  readonly level: 'workflow' | 'step'
  readonly stepName?: string
  readonly docsLink?: string
  /** What to do. */
  readonly actionItems?: string
  /** Line of the problem. */
  readonly lines: number
  /** Number of the check, where it has one. */
  readonly code?: number
  readonly suggestion?: { readonly from: string; readonly to: string }
}

export interface PublishOptions {
  /** Address of the documentation, without a slash at its end; no links when absent. */
  readonly docsUrl?: string
  /** Types of steps by their names, for links to their pages. */
  readonly types?: ReadonlyMap<string, string>
  /** The text, to number lines as the published validator does: 0 without a step, else the first line with `step:`, then with `field:`. */
  readonly publishedLines?: SourceText
}

interface Check {
  readonly number?: number
  readonly path: string
  /** Page of the documentation. */
  readonly page?: string
}

const INTEGRATIONS = 'validating.md#integrations'

/** The checks that are none of the tables: their numbers and what they are about. */
const CHECKS: Partial<Record<DiagnosticCode, Check>> = {
  'git-missing': { number: 100, path: 'git', page: INTEGRATIONS },
  'git-variable': { number: 101, path: 'variables', page: 'pipelines.md#variables' },
  'git-unknown': { number: 102, path: 'git', page: INTEGRATIONS },
  'git-implied': { number: 103, path: 'git', page: INTEGRATIONS },
  'registry-missing': { number: 200, path: 'registry', page: INTEGRATIONS },
  'registry-variable': { number: 201, path: 'variables', page: 'pipelines.md#variables' },
  'registry-unknown': { number: 202, path: 'registry', page: INTEGRATIONS },
  'registry-needed': { number: 202, path: 'registry', page: INTEGRATIONS },
  'registry-implied': { number: 203, path: 'registry', page: INTEGRATIONS },
  'registry-required': { number: 204, path: 'registry', page: INTEGRATIONS },
  'registry-none': { number: 205, path: 'registry', page: INTEGRATIONS },
  'aws-access': { number: 206, path: 'registry', page: INTEGRATIONS },
  'gcb-access': { number: 206, path: 'registry', page: INTEGRATIONS },
  'registry-twice': { number: 207, path: 'registry_contexts', page: INTEGRATIONS },
  'cluster-missing': { number: 300, path: 'cluster', page: INTEGRATIONS },
  'cluster-variable': { number: 301, path: 'variables', page: 'pipelines.md#variables' },
  'cluster-unknown': { number: 302, path: 'cluster', page: INTEGRATIONS },
  'cluster-implied': { number: 303, path: 'cluster', page: INTEGRATIONS },
  'mixed-indentation': { number: 400, path: 'indention' },
  'folded-indentation': { number: 500, path: 'indention' },
  'helm-version': { number: 601, path: 'helm' },
  'step-version': { path: 'type', page: 'validating.md#versions-of-typed-steps' },
  'uppercase-image': { path: 'image_name' },
}

/** A problem as the published validator would give it, but with the real line unless `publishedLines` asks for its own. */
export function toPublishedProblem(problem: Diagnostic, options: PublishOptions = {}): PublishedProblem {
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
      options.publishedLines === undefined ? problem.line : publishedLine(problem, { step, key, text: options.publishedLines }),
    ...(check?.number !== undefined && { code: check.number }),
    ...(problem.suggestion !== undefined && { suggestion: problem.suggestion }),
  }
}

const HOLDERS = new Set(['steps', 'scale'])

/** The innermost step that a path such as `steps.group.steps.one.image` leads through. */
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

/** The field that a path ends with, or the index where it ends in a list. A reference is one part, dots and all. */
function keyOf(path: string): string {
  const close = path.lastIndexOf('}}')
  const dot = path.lastIndexOf('.')
  const from = dot > close ? dot : path.lastIndexOf('.', path.lastIndexOf('${{', close))
  const last = path.slice(from + 1)
  return /\[(\d+)\]$/.exec(last)?.[1] ?? last
}

function docsLink(check: Check | undefined, step: string | undefined, { docsUrl, types }: PublishOptions): string | undefined {
  if (docsUrl === undefined || docsUrl === '') return undefined
  if (check?.page !== undefined) return `${docsUrl}/${check.page}`
  const type = step === undefined ? undefined : types?.get(step)
  return type === undefined || !Object.hasOwn(STEP_TYPES, type) ? docsUrl : `${docsUrl}/steps/${type}.md`
}

function publishedLine(
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
