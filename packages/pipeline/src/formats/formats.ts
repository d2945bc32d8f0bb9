/** Formats problems like the Codefresh validator. Pure: returns text and prints nothing. */
import type { Diagnostic } from '../language/diagnostic.ts'
import { toCodefreshProblem } from './codefresh-problem.ts'
import type { CodefreshProblem, CodefreshProblemOptions } from './codefresh-problem.ts'
import { GREEN, paint, RED, tableRow, wrap, YELLOW } from './text-table.ts'

export interface FormatOptions extends CodefreshProblemOptions {
  /** ANSI colors. */
  readonly colour?: boolean
  /** Format `lint` shows the code of each problem after its message: `[unknown-key]`. The Codefresh validator shows none. */
  readonly codes?: boolean
}

/** Format `message`: the messages of all errors, one per line. Empty if there are none. */
export function formatMessages(problems: readonly Diagnostic[]): string {
  return problems.flatMap(({ severity, message }) => (severity === 'error' ? [`${message}\n`] : [])).join('')
}

const PRINTIFY_WIDTHS = [20, 100]

/** Format `printify`: a table for each error, with a row for each known property. */
export function formatTables(problems: readonly Diagnostic[], options: FormatOptions = {}): string {
  return problems
    .filter(({ severity }) => severity === 'error')
    .map((problem) => tableOf(toCodefreshProblem(problem, options), options.colour === true))
    .join('\n')
}

function tableOf(problem: CodefreshProblem, colour: boolean): string {
  const rows: [string, string | undefined][] = [
    ['Message', problem.message],
    ['Error Type', problem.type],
    ['Error Level', problem.level],
    ['Step Name', problem.stepName],
    ['Documentation Link', problem.docsLink],
    ['Action Items', problem.actionItems],
    ['Error Lines', String(problem.lines)],
  ]
  const [left = 0, right = 0] = PRINTIFY_WIDTHS
  const rule = (from: string, cross: string, to: string): string => `${from}${'─'.repeat(left)}${cross}${'─'.repeat(right)}${to}`
  const lines = rows.flatMap(([name, value]) => {
    if (value === undefined) return []
    const names = wrap(name, left - 2)
    const values = wrap(value, right - 2)
    return [
      Array.from({ length: Math.max(names.length, values.length) }, (_, line) => {
        const shown = (values[line] ?? '').padEnd(right - 2)
        return `│ ${(names[line] ?? '').padEnd(left - 2)} │ ${colour && name === 'Message' ? paint(shown, RED) : shown} │`
      }).join('\n'),
    ]
  })
  return `${rule('┌', '┬', '┐')}\n${lines.join(`\n${rule('├', '┼', '┤')}\n`)}\n${rule('└', '┴', '┘')}\n`
}

export interface Lint {
  /** The errors; empty if there are none. */
  readonly message: string
  /** The warnings; absent if there are none. */
  readonly warningMessage?: string
  /** `✖ 2 problems (1 error, 1 warning)`, or empty. */
  readonly summarize: string
  /** `Visit <link> for <path> documentation`, one line per link, links of warnings first. */
  readonly documentationLinks: string
}

const LINT_WIDTHS = [5, 10, 80, 80]

/** Format `lint`: one row per problem, with separate tables for errors and warnings. */
export function formatLint(problems: readonly Diagnostic[], options: FormatOptions = {}): Lint {
  const colour = options.colour === true
  const errors = problems.filter(({ severity }) => severity === 'error')
  const warnings = problems.filter(({ severity }) => severity === 'warning')
  return {
    message: errors.length === 0 ? '' : `Yaml validation errors:\n${lintTable(errors, options)}`,
    ...(warnings.length > 0 && { warningMessage: `Yaml validation warnings:\n${lintTable(warnings, options)}` }),
    summarize: problems.length === 0 ? '' : summary(errors.length, warnings.length, colour),
    documentationLinks: links([...warnings, ...errors], options),
  }
}

function lintTable(problems: readonly Diagnostic[], options: FormatOptions): string {
  return problems
    .flatMap((problem) => {
      const isError = problem.severity === 'error'
      const { lines } = toCodefreshProblem(problem, options)
      const word = { text: problem.severity, ...(options.colour === true && { colour: isError ? RED : YELLOW }) }
      const message = options.codes === true ? `${problem.message} [${problem.code}]` : problem.message
      return tableRow([{ text: String(lines) }, word, { text: message }, { text: problem.hint }], LINT_WIDTHS, ' ')
    })
    .map((line) => `${line}\n`)
    .join('')
}

/** Returns `✖ N problems (E errors, W warnings)`. */
export function summary(errors: number, warnings: number, colour: boolean): string {
  const count = (number: number, noun: string): string => `${number} ${noun}${number === 1 ? '' : 's'}`
  const text = `✖ ${count(errors + warnings, 'problem')} (${count(errors, 'error')}, ${count(warnings, 'warning')})`
  return colour ? paint(text, errors > 0 ? RED : YELLOW) : text
}

function links(problems: readonly Diagnostic[], options: FormatOptions): string {
  const lines = problems.flatMap((problem) => {
    const { docsLink, path } = toCodefreshProblem(problem, options)
    return docsLink === undefined ? [] : [`Visit ${docsLink} for ${path} documentation\n`]
  })
  return [...new Set(lines)].join('')
}

/** Returns the text of the Codefresh validator for a document without problems. */
export function formatValid(colour: boolean): string {
  return colour ? paint('Yaml is valid!', GREEN) : 'Yaml is valid!'
}
