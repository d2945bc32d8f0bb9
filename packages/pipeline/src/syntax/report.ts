import type { Diagnostic, DiagnosticCode } from '../language/diagnostic.ts'
import type { Range, SourceText } from './source.ts'

export interface Details {
  readonly hint?: string
  readonly path?: string
  readonly suggestion?: { readonly from: string; readonly to: string }
}

/** Maximum number of problems that are kept for one document. */
const MAX_PROBLEMS = 500
/** Limits for messages and paths, because names and values in a document can be as long as the document. */
const MAX_MESSAGE = 1_000
const MAX_PATH = 500

/** Collects the problems of one document. */
export class Report {
  readonly source: SourceText
  readonly problems: Diagnostic[] = []
  /** Reported problems. A place can be checked several times, because of aliases and because one step can generate many. */
  private readonly reported = new Set<string>()

  constructor(source: SourceText) {
    this.source = source
  }

  error(code: DiagnosticCode, range: Range, message: string, details: Details = {}): void {
    this.add('error', { code, range, message, details })
  }

  warning(code: DiagnosticCode, range: Range, message: string, details: Details = {}): void {
    this.add('warning', { code, range, message, details })
  }

  /** True if further problems are dropped, so that expensive details such as suggestions can be skipped. */
  get isFull(): boolean {
    return this.problems.length >= MAX_PROBLEMS
  }

  /** Removes the problems of a code that another problem explains better. */
  drop(code: DiagnosticCode): void {
    this.problems.splice(0, this.problems.length, ...this.problems.filter((problem) => problem.code !== code))
  }

  private add(
    severity: Diagnostic['severity'],
    { code, range, message, details }: { code: DiagnosticCode; range: Range; message: string; details: Details },
  ): void {
    if (this.isFull) return
    const text = message.slice(0, MAX_MESSAGE)
    const key = `${code} ${range.start} ${text}`
    if (this.reported.has(key)) return
    this.reported.add(key)
    const start = this.source.placeOf(range.start)
    const end = this.source.placeOf(Math.max(range.start, range.end))
    const { hint = '', path = '', suggestion } = details
    const place = { file: this.source.file, line: start.line, column: start.column, endLine: end.line, endColumn: end.column }
    this.problems.push({
      ...place,
      severity,
      code,
      message: text,
      hint,
      path: path.slice(0, MAX_PATH),
      ...(suggestion !== undefined && { suggestion }),
    })
  }
}
