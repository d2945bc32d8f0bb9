/** Changes of the text that solve a problem. */
import type { Diagnostic } from '../language/diagnostic.ts'

export interface Fix {
  readonly label: string
  /** Range of the text to replace. */
  readonly from: number
  readonly to: number
  readonly insert: string
}

type Fixable = Pick<Diagnostic, 'line' | 'column' | 'endLine' | 'endColumn' | 'suggestion'>

/** Returns the change that the compiler suggests for a problem. Undefined if it suggests none, or if the text is not there any more. */
export function fixOf(text: string, { suggestion, ...range }: Fixable): Fix | undefined {
  if (suggestion === undefined) return undefined
  const from = offsetOf(text, range.line, range.column)
  const to = offsetOf(text, range.endLine, range.endColumn)
  if (from === undefined || to === undefined) return undefined
  const at = text.slice(from, to).indexOf(suggestion.from)
  if (at === -1) return undefined
  const start = from + at
  return { label: `Write ${suggestion.to}`, from: start, to: start + suggestion.from.length, insert: suggestion.to }
}

/** Returns the offset of a place, both 1-based. Undefined if the text has no such line. */
function offsetOf(text: string, line: number, column: number): number | undefined {
  let start = 0
  for (let at = 1; at < line; at += 1) {
    const end = text.indexOf('\n', start)
    if (end === -1) return undefined
    start = end + 1
  }
  return Math.min(start + column - 1, text.length)
}
