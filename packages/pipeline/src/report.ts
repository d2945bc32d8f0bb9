import type { Diagnostic, DiagnosticCode } from './diagnostic.ts'
import type { Range, SourceText } from './source.ts'

export interface Details {
  readonly hint?: string
  readonly path?: string
  readonly suggestion?: { readonly from: string; readonly to: string }
}

/** No document needs more; the rest of a hopeless one is not worth reading. */
const MAX_PROBLEMS = 500
/** Names and values in a document may be as long as it is. */
const MAX_MESSAGE = 1_000
const MAX_PATH = 500

/** Gathers the problems of one document. */
export class Report {
  readonly source: SourceText
  readonly problems: Diagnostic[] = []
  /** One place may be looked at several times, because of aliases and because one step can stand for many. */
  private readonly told = new Set<string>()

  constructor(source: SourceText) {
    this.source = source
  }

  error(code: DiagnosticCode, range: Range, message: string, details: Details = {}): void {
    this.add('error', { code, range, message, details })
  }

  warning(code: DiagnosticCode, range: Range, message: string, details: Details = {}): void {
    this.add('warning', { code, range, message, details })
  }

  /** True when further problems are not kept: what only makes them more helpful can be left out. */
  get isFull(): boolean {
    return this.problems.length >= MAX_PROBLEMS
  }

  /** Forgets the problems of a code: another problem explains them better. */
  drop(code: DiagnosticCode): void {
    this.problems.splice(0, this.problems.length, ...this.problems.filter((problem) => problem.code !== code))
  }

  private add(
    severity: Diagnostic['severity'],
    { code, range, message, details }: { code: DiagnosticCode; range: Range; message: string; details: Details },
  ): void {
    if (this.isFull) return
    const said = message.slice(0, MAX_MESSAGE)
    const key = `${code} ${range.start} ${said}`
    if (this.told.has(key)) return
    this.told.add(key)
    const start = this.source.placeOf(range.start)
    const end = this.source.placeOf(Math.max(range.start, range.end))
    const { hint = '', path = '', suggestion } = details
    const place = { file: this.source.file, line: start.line, column: start.column, endLine: end.line, endColumn: end.column }
    this.problems.push({
      ...place,
      severity,
      code,
      message: said,
      hint,
      path: path.slice(0, MAX_PATH),
      ...(suggestion !== undefined && { suggestion }),
    })
  }
}
