/** The summary below the log of an ended build: a table of its steps, the failure, and the result. */
import { advise, describeBuild, formatDuration, formatUsage, stepToBlame, toTree } from '@windlass/plan'
import { alignColumns, cut, widthOf } from '../format/columns.ts'
import { formatProblem } from '../format/problems.ts'
import { markOf, paintStatus, type Style } from '../format/style.ts'
import type { Terminal } from '../printer.ts'
import type { BuildRecord, StepRecord } from './record.ts'

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
  const failed = stepToBlame(build)
  if (failed !== undefined) lines.push(...lastLinesOf(failed, options))
  lines.push('', lastLine(build, style))
  const hint = failed?.hint ?? build.hint ?? ''
  if (hint !== '') lines.push(`${style.dim('hint:')} ${hint}`)
  if (build.status === 'error' && failed !== undefined)
    for (const { text } of advise({ step: failed })) if (text !== hint) lines.push(`${style.dim('advice:')} ${text}`)
  return lines
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

function lastLine(build: BuildRecord, style: Style): string {
  const name = build.id === null ? 'Build' : `Build ${build.id}`
  const paint = build.status === 'success' ? style.green : style.red
  return paint(`${markOf(build.status)} ${name} ${describeBuild(build)}`)
}
