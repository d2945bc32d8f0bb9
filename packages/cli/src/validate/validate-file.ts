/** Validates a file: a pipeline, a step type, or documents of other kinds. */
import { isFault, type Problem } from '@windlass/kit/faults'
import { readStepTypeFolder, type FolderStepTypes } from '@windlass/local/step-types'
import { checkPipeline, checkStepType, hasErrors, partial, type Diagnostic, type StepCatalog } from '@windlass/pipeline'
import { readInput, rereadInput } from '../input/input-files.ts'
import { partsOf } from '../input/document-parts.ts'

export interface Verdict {
  readonly file: string
  readonly text: string
  readonly valid: boolean
  readonly problems: readonly Diagnostic[]
}

export interface ValidateFileOptions {
  /** Bypasses the cache of files. */
  readonly again?: boolean
  /** Folder with manifests of step types. Default: `.windlass/steps` next to the file. */
  readonly stepTypes?: string | undefined
}

/** Reads and validates a file. Throws `file-not-found` and `usage` for unreadable files. */
export async function validateFile(path: string, { again = false, stepTypes }: ValidateFileOptions = {}): Promise<Verdict> {
  const { name, text } = again ? rereadInput(path) : readInput(path)
  const documentPath = path === '-' ? undefined : path
  let found: FolderStepTypes | undefined
  // Read only for a document with a typed step.
  const known = (): StepCatalog => (found ??= readStepTypeFolder({ folder: stepTypes, documentPath })).catalog
  const types = partial({
    find: (type, version) => known().find(type, version),
    names: () => known().names(),
    versions: (type) => known().versions(type),
  })
  const problems = await problemsOf({ text, file: name, types })
  problems.unshift(...(found?.warnings ?? []))
  return { file: name, text, valid: !hasErrors(problems), problems }
}

interface Source {
  readonly text: string
  readonly file: string
  /** The step types that are known on this machine. A server may have more. */
  readonly types: StepCatalog
}

const KIND = /^["']?kind["']?[ \t]*:[ \t]*["']?([A-Za-z-]{1,40})/m

/** A text without `kind` is a single pipeline; otherwise it may contain several documents, as for `apply`. */
async function problemsOf(source: Source): Promise<Diagnostic[]> {
  if (!KIND.test(source.text)) return problemsOfPipeline(source)
  const problems: Diagnostic[] = []
  for (const { text, line } of partsOf(source.text)) {
    if (text.replaceAll(/^[ \t]*#.*$/gm, '').trim() === '') continue
    const found = await problemsOfPart({ ...source, text })
    problems.push(...found.map((one) => ({ ...one, line: one.line + line - 1, endLine: one.endLine + line - 1 })))
  }
  return problems
}

function problemsOfPipeline({ types, ...source }: Source): Diagnostic[] {
  return [...checkPipeline(source, types)]
}

/** Validates one document. Finds the kind without parsing, so that a pipeline is parsed only once. */
async function problemsOfPart(source: Source): Promise<readonly Diagnostic[]> {
  const kind = KIND.exec(source.text)?.[1] ?? 'pipeline'
  if (kind === 'pipeline') return problemsOfPipeline(source)
  return kind === 'step-type' ? checkStepType(source).problems : problemsOfResource(source)
}

/** Validates the fields of a project, context, runtime or agent, as `apply` does. */
async function problemsOfResource({ text, file }: Source): Promise<Diagnostic[]> {
  const { readDocuments } = await import('../resources/documents.ts')
  try {
    readDocuments({ name: file, text }, { name: undefined, runtime: undefined })
    return []
  } catch (error) {
    if (!isFault(error) || error.code !== 'document-invalid') throw error
    const found: readonly Problem[] = error.details.problems ?? [{ message: error.message, hint: error.hint }]
    return found.map((problem) => toDiagnostic(problem, file))
  }
}

/** Converts a problem. A message may start with its position, `file:line: `. */
function toDiagnostic({ message, line, column = 1, hint = '', path = '' }: Problem, file: string): Diagnostic {
  const placed = message.startsWith(`${file}:`) ? /^:(\d+): (.*)$/s.exec(message.slice(file.length)) : null
  const at = line ?? Number(placed?.[1] ?? 1)
  const place = { file, line: at, column, endLine: at, endColumn: column }
  return { ...place, severity: 'error', code: 'document', message: placed?.[2] ?? message, hint, path }
}
