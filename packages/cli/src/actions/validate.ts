import { compile, hasErrors, type Diagnostic } from '@windlass/pipeline'
import type { Invocation } from '../command.ts'
import { EXIT } from '../exit-codes.ts'
import { countProblems, formatProblem } from '../format/problems.ts'
import { readInput, sourcesRead } from '../input-files.ts'
import type { Printer } from '../printer.ts'

interface Verdict {
  readonly file: string
  readonly valid: boolean
  readonly problems: readonly Diagnostic[]
}

/** `validate FILE...`: all files are checked, whatever is wrong with the first ones. */
export async function validateFiles({ args, options, out }: Invocation<{ output: 'json' | undefined }>): Promise<number> {
  const verdicts = args.map((path): Verdict => {
    const { name, text } = readInput(path)
    const { problems } = compile({ text, file: name })
    return { file: name, valid: !hasErrors(problems), problems }
  })
  if (options.output === 'json') printJson(out, verdicts)
  else for (const verdict of verdicts) printVerdict(out, verdict)
  return verdicts.every(({ valid }) => valid) ? EXIT.success : EXIT.failed
}

/** One object for one file, a list with the names of the files for several. */
function printJson(out: Printer, verdicts: readonly Verdict[]): void {
  const plain = verdicts.map(({ file, valid, problems }) => ({ file, valid, problems: problems.map(withoutFile) }))
  const [only] = plain
  const value = plain.length === 1 && only !== undefined ? { valid: only.valid, problems: only.problems } : plain
  out.line(JSON.stringify(value, null, 2))
}

function withoutFile(diagnostic: Diagnostic): Omit<Diagnostic, 'file'> {
  const { file: _file, ...problem } = diagnostic
  return problem
}

function printVerdict(out: Printer, { file, valid, problems }: Verdict): void {
  const { style } = out.stdout
  for (const problem of problems) for (const line of formatProblem(problem, sourcesRead(), style)) out.line(line)
  if (problems.length > 0) out.line()
  const count = problems.length === 0 ? '' : `: ${countProblems(problems)}`
  out.line(valid ? style.green(`✔ ${file} is valid${count}`) : style.red(`✖ ${file} is not valid${count}`))
}
