/** Prints validation results in the formats of `validate`. */
import {
  formatLint,
  formatMessages,
  formatTables,
  formatValid,
  stepTypes,
  toCodefreshProblem,
  type Diagnostic,
} from '@windlass/pipeline'
import { defined } from '@windlass/kit/defined'
import { countProblems } from '@windlass/plan'
import { formatProblem } from '../format/problems.ts'
import type { Printer } from '../printer.ts'
import type { Verdict } from './validate-file.ts'

export const VALIDATE_FORMATS = ['human', 'message', 'printify', 'lint', 'json'] as const
export type ValidateFormat = (typeof VALIDATE_FORMATS)[number]

export interface PrintOptions {
  readonly format: ValidateFormat
  /** Base URL for links of the Codefresh formats; no links if undefined. */
  readonly docsUrl: string | undefined
}

/** Prints all results, as one JSON value or file by file. */
export function printVerdicts(out: Printer, verdicts: readonly Verdict[], printOptions: PrintOptions): void {
  if (printOptions.format === 'json') return printJson(out, verdicts)
  for (const verdict of verdicts) {
    if (printOptions.format === 'human') {
      printVerdict(out, verdict)
      continue
    }
    if (verdicts.length > 1) out.line(`${verdict.file}:`)
    for (const part of codefreshParts(out, verdict, printOptions)) if (part !== '') out.line(part.replace(/\n$/, ''))
  }
}

/** Returns the texts that the Codefresh validator prints for a document. */
function codefreshParts(out: Printer, { file, text, problems }: Verdict, { format, docsUrl }: PrintOptions): string[] {
  const color = out.stdout.hasColor === true
  if (problems.length === 0) return [formatValid(color)]
  const links = docsUrl === undefined ? {} : { docsUrl, types: stepTypes({ text, file }) }
  if (format === 'message') return [formatMessages(problems) || formatValid(color)]
  if (format === 'printify') return [formatTables(problems, { colour: color, ...links }) || formatValid(color)]
  const lint = formatLint(problems, { colour: color, codes: true, ...links })
  return [lint.warningMessage ?? '', lint.message, lint.summarize, lint.documentationLinks]
}

/** Prints an object for a single file, or a list with file names for several. */
function printJson(out: Printer, verdicts: readonly Verdict[]): void {
  const plain = verdicts.map(({ file, valid, problems }) => ({ file, valid, problems: problems.map((one) => toJson(one, file)) }))
  const [only] = plain
  const value = plain.length === 1 && only !== undefined ? { valid: only.valid, problems: only.problems } : plain
  out.line(JSON.stringify(value, null, 2))
}

/** Returns our fields, plus those that only the Codefresh format has. Includes the file of a problem in another file, such as a manifest. */
function toJson(diagnostic: Diagnostic, validated: string): object {
  const { file, ...problem } = diagnostic
  const { level, stepName, code } = toCodefreshProblem(diagnostic)
  return { ...problem, level, ...defined({ stepName, number: code, file: file === validated ? undefined : file }) }
}

function printVerdict(out: Printer, { file, text, valid, problems }: Verdict): void {
  const { style } = out.stdout
  const sources = new Map([[file, text]])
  for (const problem of problems) for (const line of formatProblem(problem, sources, style)) out.line(line)
  if (problems.length > 0) out.line()
  const count = problems.length === 0 ? '' : `: ${countProblems(problems)}`
  out.line(valid ? style.green(`✔ ${file} is valid${count}`) : style.red(`✖ ${file} is not valid${count}`))
}
