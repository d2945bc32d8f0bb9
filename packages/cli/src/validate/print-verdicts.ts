/** Verdicts on files in the formats of `validate`. */
import {
  formatLint,
  formatMessages,
  formatTables,
  formatValid,
  stepTypes,
  toPublishedProblem,
  type Diagnostic,
} from '@windlass/pipeline'
import { countProblems, formatProblem } from '../format/problems.ts'
import type { Printer } from '../printer.ts'
import type { Verdict } from './judge-file.ts'

export const VALIDATE_FORMATS = ['human', 'message', 'printify', 'lint', 'json'] as const
export type ValidateFormat = (typeof VALIDATE_FORMATS)[number]

export interface Look {
  readonly format: ValidateFormat
  /** Where links of the published formats lead; none when undefined. */
  readonly docsUrl: string | undefined
}

/** Prints all verdicts: one JSON value, or one file after the other. */
export function printVerdicts(out: Printer, verdicts: readonly Verdict[], look: Look): void {
  if (look.format === 'json') return printJson(out, verdicts)
  for (const verdict of verdicts) {
    if (look.format === 'human') {
      printVerdict(out, verdict)
      continue
    }
    if (verdicts.length > 1) out.line(`${verdict.file}:`)
    for (const part of published(out, verdict, look)) if (part !== '') out.line(part.replace(/\n$/, ''))
  }
}

/** The texts that the published validator prints for a document. */
function published(out: Printer, { file, text, problems }: Verdict, { format, docsUrl }: Look): string[] {
  const colour = out.stdout.hasColour === true
  if (problems.length === 0) return [formatValid(colour)]
  const links = docsUrl === undefined ? {} : { docsUrl, types: stepTypes({ text, file }) }
  if (format === 'message') return [formatMessages(problems) || formatValid(colour)]
  if (format === 'printify') return [formatTables(problems, { colour, ...links }) || formatValid(colour)]
  const lint = formatLint(problems, { colour, ...links })
  return [lint.warningMessage ?? '', lint.message, lint.summarize, lint.documentationLinks]
}

/** One object for one file, a list with the names of the files for several. */
function printJson(out: Printer, verdicts: readonly Verdict[]): void {
  const plain = verdicts.map(({ file, valid, problems }) => ({ file, valid, problems: problems.map(toJson) }))
  const [only] = plain
  const value = plain.length === 1 && only !== undefined ? { valid: only.valid, problems: only.problems } : plain
  out.line(JSON.stringify(value, null, 2))
}

/** Our own fields, and those of the published shape that they do not say. */
function toJson(diagnostic: Diagnostic): object {
  const { file: _file, ...problem } = diagnostic
  const { level, stepName, code } = toPublishedProblem(diagnostic)
  return { ...problem, level, ...(stepName !== undefined && { stepName }), ...(code !== undefined && { number: code }) }
}

function printVerdict(out: Printer, { file, text, valid, problems }: Verdict): void {
  const { style } = out.stdout
  const sources = new Map([[file, text]])
  for (const problem of problems) for (const line of formatProblem(problem, sources, style)) out.line(line)
  if (problems.length > 0) out.line()
  const count = problems.length === 0 ? '' : `: ${countProblems(problems)}`
  out.line(valid ? style.green(`✔ ${file} is valid${count}`) : style.red(`✖ ${file} is not valid${count}`))
}
