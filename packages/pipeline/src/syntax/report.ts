import type { Diagnostic, DiagnosticCode } from '../language/diagnostic.ts'
import type { Range, SourceText } from './source.ts'
import { Suggestions } from './suggestions.ts'

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
  /** How often a problem was reported, including those that are dropped. */
  found = 0
  readonly suggestions: Suggestions
  /** Reported problems. A place can be checked several times, because of aliases and because one step can generate many. */
  private readonly reported = new Set<string>()
  private readonly visited = new Set<string>()
  private errors = 0

  /** `suggestions`: those of another report about the same document. */
  constructor(source: SourceText, suggestions = new Suggestions()) {
    this.source = source
    this.suggestions = suggestions
  }

  error(code: DiagnosticCode, range: Range, message: string, details: Details = {}): void {
    this.add('error', { code, range, message, details })
  }

  warning(code: DiagnosticCode, range: Range, message: string, details: Details = {}): void {
    this.add('warning', { code, range, message, details })
  }

  /** Returns a suggestion for a misspelled name, as `Suggestions.find` does. */
  suggest(wrong: string, among: object, search: () => string | undefined): string | undefined {
    return this.suggestions.find(wrong, among, search)
  }

  /**
   * Returns true for the first call with this code and place. Aliased nodes are shared, so a document can lead to one place thousands of times.
   */
  isFirst(code: DiagnosticCode, { start }: Range): boolean {
    const key = `${code} ${start}`
    if (this.visited.has(key)) return false
    this.visited.add(key)
    return true
  }

  /** Removes the problems of a code that another problem explains better. */
  drop(code: DiagnosticCode): void {
    this.problems.splice(0, this.problems.length, ...this.problems.filter((problem) => problem.code !== code))
  }

  /** Makes room for an error: a document must not compile because its errors come after many warnings. */
  private dropWarning(): void {
    const last = this.problems.findLastIndex(({ severity }) => severity === 'warning')
    if (last >= 0) this.problems.splice(last, 1)
  }

  private add(
    severity: Diagnostic['severity'],
    { code, range, message, details }: { code: DiagnosticCode; range: Range; message: string; details: Details },
  ): void {
    this.found += 1
    if ((severity === 'error' ? this.errors : this.problems.length) >= MAX_PROBLEMS) return
    const text = message.slice(0, MAX_MESSAGE)
    const key = `${code} ${range.start} ${text}`
    if (this.reported.has(key)) return
    this.reported.add(key)
    if (severity === 'error') this.errors += 1
    if (this.problems.length >= MAX_PROBLEMS) this.dropWarning()
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
