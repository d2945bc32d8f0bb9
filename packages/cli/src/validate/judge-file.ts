/** What is wrong with a file: a pipeline, a step type, or documents of other kinds. */
import { isFault, type Problem } from '@windlass/kit/faults'
import { checkStepType, compile, hasErrors, type Diagnostic } from '@windlass/pipeline'
import { readInput, rereadInput } from '../input-files.ts'

export interface Verdict {
  readonly file: string
  readonly text: string
  readonly valid: boolean
  readonly problems: readonly Diagnostic[]
}

/** Reads and checks a file; `again` reads it anew. Throws `file-not-found` and `usage` for files that cannot be read. */
export async function judgeFile(path: string, { again = false }: { again?: boolean } = {}): Promise<Verdict> {
  const { name, text } = again ? rereadInput(path) : readInput(path)
  const problems = await problemsOf({ text, file: name })
  return { file: name, text, valid: !hasErrors(problems), problems }
}

interface Source {
  readonly text: string
  readonly file: string
}

const KIND = /^["']?kind["']?[ \t]*:[ \t]*["']?([A-Za-z-]{1,40})/m

/** A text without any kind is one inline pipeline; one with kinds may hold several documents, as `apply` takes them. */
async function problemsOf(source: Source): Promise<readonly Diagnostic[]> {
  if (!KIND.test(source.text)) return compile(source).problems
  const problems: Diagnostic[] = []
  for (const { text, line } of partsOf(source.text)) {
    if (text.replaceAll(/^[ \t]*#.*$/gm, '').trim() === '') continue
    const found = await problemsOfPart({ ...source, text })
    problems.push(...found.map((one) => ({ ...one, line: one.line + line - 1, endLine: one.endLine + line - 1 })))
  }
  return problems
}

/** The documents of a text with their first lines (1-based). A line that begins with `---` always starts one. */
function partsOf(text: string): { readonly text: string; readonly line: number }[] {
  const lines = text.split('\n')
  const marks = lines.flatMap((line, index) => (/^---(?:\s|$)/.test(line) ? [index] : []))
  return [-1, ...marks].map((mark, index) => ({ text: lines.slice(mark + 1, marks[index]).join('\n'), line: mark + 2 }))
}

/** The kind is found without parsing, so that a pipeline is parsed only once. */
async function problemsOfPart(source: Source): Promise<readonly Diagnostic[]> {
  const kind = KIND.exec(source.text)?.[1] ?? 'pipeline'
  if (kind === 'pipeline') return compile(source).problems
  return kind === 'step-type' ? checkStepType(source).problems : problemsOfResource(source)
}

/** Fields of a project, context, runtime or agent, as `apply` checks them. */
async function problemsOfResource({ text, file }: Source): Promise<Diagnostic[]> {
  const { readDocuments } = await import('../resources/documents.ts')
  try {
    readDocuments({ name: file, text }, { name: undefined, runtime: undefined })
    return []
  } catch (error) {
    if (!isFault(error) || error.code !== 'document-invalid') throw error
    const told: readonly Problem[] = error.details.problems ?? [{ message: error.message, hint: error.hint }]
    return told.map((problem) => toDiagnostic(problem, file))
  }
}

/** A message that begins with its place, `file:line: `, gives that place. */
function toDiagnostic({ message, line, column = 1, hint = '', path = '' }: Problem, file: string): Diagnostic {
  const placed = message.startsWith(`${file}:`) ? /^:(\d+): (.*)$/s.exec(message.slice(file.length)) : null
  const at = line ?? Number(placed?.[1] ?? 1)
  const place = { file, line: at, column, endLine: at, endColumn: column }
  return { ...place, severity: 'error', code: 'document', message: placed?.[2] ?? message, hint, path }
}
