/** The summary below the log of an ended build: a table of its steps, the failure, and the result. */
import { formatDuration } from '@windlass/plan'
import { alignColumns, cut, widthOf } from '../format/columns.ts'
import { countProblems, formatProblem } from '../format/problems.ts'
import { formatUsage } from '../format/usage.ts'
import { markOf, paintStatus, type Style } from '../format/style.ts'
import type { Terminal } from '../printer.ts'
import type { BuildRecord, StepRecord } from './record.ts'
import { toTree } from './step-tree.ts'
import { textOfReason } from './wording.ts'

export interface SummaryOptions {
  readonly terminal: Terminal
  /** Returns the last lines of a step. */
  readonly lastLines?: (step: string) => readonly string[]
  /** The step whose lines are directly above the summary, which are not repeated. */
  readonly shownLast?: string | undefined
  /** Texts of files, for quoting the lines of problems. */
  readonly sources?: ReadonlyMap<string, string>
  /** File name for problems that have none. */
  readonly file?: string | undefined
}

/** Returns the lines of the summary. */
export function summarize(build: BuildRecord, options: SummaryOptions): string[] {
  const style = options.terminal.style
  const lines: string[] = []
  if (build.steps.length > 0) lines.push('', ...stepTable(build.steps, options.terminal))
  for (const problem of build.problems ?? [])
    lines.push(...formatProblem({ ...problem, file: problem.file ?? options.file }, options.sources ?? new Map(), style))
  const failed = failedStep(build)
  if (failed !== undefined) lines.push(...lastLinesOf(failed, options))
  lines.push('', lastLine(build, style))
  const hint = failed?.hint ?? build.hint ?? ''
  if (hint !== '') lines.push(`${style.dim('hint:')} ${hint}`)
  return lines
}

/** Returns the failed step to show, preferably not a group and not a hook whose failure is ignored. */
function failedStep({ steps }: BuildRecord): StepRecord | undefined {
  const failed = steps.filter(({ status }) => status === 'error')
  return failed.find(({ type, name }) => type !== 'group' && !/\.on_(success|fail|finish)(\.|$)/.test(name)) ?? failed[0]
}

/** Returns the table of steps. A terminal cuts long names to keep the other columns visible; a file has them in full. */
function stepTable(steps: readonly StepRecord[], { style, columns, isTTY }: Terminal): string[] {
  const isUsed = steps.some(({ usage }) => usage !== null)
  const head = ['STEP', 'STATUS', 'TIME', ...(isUsed ? ['USED'] : []), 'REASON'].map((cell) => style.dim(cell))
  const rows = toTree(steps).map(({ step, depth, label }) => [
    '  '.repeat(depth) + label,
    paintStatus(style, step.status, `${markOf(step.status)} ${step.status}`),
    timeOf(step),
    ...(isUsed ? [formatUsage(step.usage)] : []),
    step.status === 'success' ? '' : (step.reason ?? ''),
  ])
  const table = [head, ...rows]
  if (!isTTY) return alignColumns(table)
  const names = columns - widthOfColumns(table.map(([, ...others]) => others))
  return alignColumns(table.map(([name = '', ...others]) => [cut(name, Math.max(names, MIN_NAME)), ...others])).map((line) =>
    cut(line, columns),
  )
}

/** Width that a step name keeps beside long reasons. Characters. */
const MIN_NAME = 20

/** Returns the width of columns with the space before each of them. */
function widthOfColumns(rows: readonly (readonly string[])[]): number {
  const count = rows[0]?.length ?? 0
  return Array.from({ length: count }, (_, index) => 2 + Math.max(...rows.map((row) => widthOf(row[index] ?? '')))).reduce(
    (sum, width) => sum + width,
    0,
  )
}

function timeOf({ startedAt, finishedAt }: { startedAt: number | null; finishedAt: number | null }): string {
  return startedAt === null || finishedAt === null ? '' : formatDuration(Math.max(0, finishedAt - startedAt))
}

/** Returns the last lines of the failed step, unless they are directly above. */
function lastLinesOf(step: StepRecord, { terminal, lastLines, shownLast }: SummaryOptions): string[] {
  const { style } = terminal
  const last = step.name === shownLast ? [] : (lastLines?.(step.name) ?? [])
  if (last.length === 0) return []
  return ['', style.red(`${markOf('error')} ${step.name} ended with:`), ...last.map((line) => `  ${style.dim('|')} ${line}`)]
}

function whyOf(step: StepRecord): string {
  return (
    step.message ??
    (step.reason === 'exit-code' ? `exit code ${step.exitCode}` : textOfReason(step.reason ?? undefined)) ??
    'failed'
  )
}

const ENDINGS: ReadonlyMap<string, string> = new Map([
  ['error', 'failed'],
  ['terminated', 'was terminated'],
])

function lastLine(build: BuildRecord, style: Style): string {
  const name = build.id === null ? 'Build' : `Build ${build.id}`
  const time = timeOf(build)
  const after = time === '' ? '' : ` after ${time}`
  if (build.status === 'success') return style.green(`${markOf('success')} ${name} succeeded${after}`)
  const ending = ENDINGS.get(build.status) ?? `ended with the status ${build.status}`
  const why = whyEnded(build)
  return style.red(`${markOf(build.status)} ${name} ${ending}${after}${why === undefined ? '' : `: ${why}`}`)
}

function whyEnded(build: BuildRecord): string | undefined {
  if (build.problems !== undefined && build.problems.length > 0) return `the document has ${countProblems(build.problems)}`
  const failed = build.status === 'error' ? failedStep(build) : undefined
  if (failed !== undefined) return `step ${failed.name}: ${whyOf(failed)}`
  return build.message ?? textOfReason(build.reason ?? undefined)
}
