/** Formats errors: message, position and hint. */
import { isFault, sentences, type Fault, type Problem } from '@windlass/kit/faults'
import type { Style } from './style.ts'

/** Texts of files, by the name used in problems. */
export type Sources = ReadonlyMap<string, string>

const TAB_WIDTH = 2

/** Returns the lines of a problem: `file:line:column`, the source line and a caret. */
export function formatProblem(problem: Problem, sources: Sources, style: Style): string[] {
  const place = [problem.file, problem.line, problem.line === undefined ? undefined : problem.column]
    .filter((part) => part !== undefined)
    .join(':')
  const severity = problem.severity === 'warning' ? style.yellow('warning') : style.red('error')
  const code = problem.code === undefined ? '' : style.dim(` [${problem.code}]`)
  const path = place === '' && problem.path !== undefined && problem.path !== '' ? `${problem.path}: ` : ''
  const lines = [`${place === '' ? '' : `${style.bold(place)}: `}${severity}: ${path}${problem.message}${code}`]
  const source = problem.file === undefined ? undefined : sources.get(problem.file)
  if (source !== undefined && problem.line !== undefined) lines.push(...snippet(source, problem.line, problem.column, style))
  if (problem.hint !== undefined && problem.hint !== '') lines.push(`  ${style.dim('hint:')} ${problem.hint}`)
  return lines
}

/** Returns the previous line, the line and a caret. Positions are 1-based. */
function snippet(source: string, line: number, column: number | undefined, style: Style): string[] {
  const all = linesOf(source)
  const width = String(line).length
  const shown: string[] = []
  for (const number of [line - 1, line]) {
    const text = all[number - 1]
    if (text === undefined || (number !== line && text.trim() === '')) continue
    shown.push(`${style.dim(` ${String(number).padStart(width)} |`)} ${expandTabs(text)}`)
  }
  if (column !== undefined && all[line - 1] !== undefined) {
    const before = expandTabs((all[line - 1] ?? '').slice(0, column - 1))
    shown.push(`${style.dim(` ${' '.repeat(width)} |`)} ${' '.repeat(before.length)}${style.red('^')}`)
  }
  return shown
}

let split: { readonly source: string; readonly lines: readonly string[] } = { source: '', lines: [] }

/** Splits a text into lines, with a cache because hundreds of problems may share a text. */
function linesOf(source: string): readonly string[] {
  if (split.source !== source) split = { source, lines: source.split(/\r?\n/) }
  return split.lines
}

function expandTabs(text: string): string {
  return text.replaceAll('\t', ' '.repeat(TAB_WIDTH))
}

/** Returns the lines of an error that ended a command: message, problems and hint. The stack is included only in debug mode. */
export function formatError(error: unknown, options: { style: Style; debug: boolean; sources?: Sources }): string[] {
  const { style, debug, sources = new Map() } = options
  if (!isFault(error)) {
    const what = sentences(error instanceof Error ? error.message : String(error))
    const lines = [`${style.red('error:')} ${what}`]
    if (debug && error instanceof Error) lines.push(style.dim(error.stack ?? ''))
    else lines.push(`${style.dim('hint:')} This looks like a bug. Run again with WINDLASS_DEBUG=1 and report the output.`)
    return lines
  }
  return formatFault(error, { style, debug, sources })
}

function formatFault(error: Fault, options: { style: Style; debug: boolean; sources: Sources }): string[] {
  const { style, debug, sources } = options
  const problems = (error.details.problems ?? []).filter(({ path, message }) => error.message !== `${path}: ${message}`)
  const lines = [`${style.red('error:')} ${sentences(error.message)}`]
  for (const problem of problems) lines.push(...formatProblem(problem, sources, style))
  const hint = hintOf(error)
  if (hint !== '') lines.push(`${style.dim('hint:')} ${hint}`)
  if (debug) lines.push(style.dim(`[${error.code}] ${error.stack ?? ''}`))
  return lines
}

/** Returns the hint of a fault without the sentence that points at `problems`, which are printed themselves. May be empty. */
export function hintOf({ hint }: Fault): string {
  return hint.replace(/^See `problems`[^.]*\. ?/, '')
}
