/** A line of a text: its number from 0, and its place without the line feed. */
export interface FoundLine {
  readonly line: number
  readonly start: number
  readonly end: number
}

/** Yields the lines that a pattern matches, each once. The pattern must have the flag `g`. */
export function* linesWith(text: string, pattern: RegExp): Generator<FoundLine> {
  const search = new RegExp(pattern)
  let line = 0
  let counted = 0
  for (let match = search.exec(text); match !== null; match = search.exec(text)) {
    const start = text.lastIndexOf('\n', match.index - 1) + 1
    const newline = text.indexOf('\n', match.index)
    const end = newline < 0 ? text.length : newline
    for (let at = text.indexOf('\n', counted); at >= 0 && at < start; at = text.indexOf('\n', at + 1)) line += 1
    counted = start
    yield { line, start, end }
    if (newline < 0) return
    search.lastIndex = newline + 1
  }
}
