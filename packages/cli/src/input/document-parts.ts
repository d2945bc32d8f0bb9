/** A document of a text that contains several. */
export interface DocumentPart {
  readonly text: string
  /** First line, 1-based. */
  readonly line: number
}

/** Splits a text into documents at each line that begins with `---`. */
export function partsOf(text: string): DocumentPart[] {
  const lines = text.split('\n')
  const marks = lines.flatMap((line, index) => (/^---(?:\s|$)/.test(line) ? [index] : []))
  return [-1, ...marks].map((mark, index) => ({ text: lines.slice(mark + 1, marks[index]).join('\n'), line: mark + 2 }))
}
