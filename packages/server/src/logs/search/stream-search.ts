import { visibleText } from '@windlass/ansi'
import { countNewlines, NEWLINE } from '../text/newlines.ts'
import type { Finder, Found } from './finder.ts'

/** Matches of all streams of one search. */
export interface Matches {
  readonly find: Finder
  /** The search stops at the end of the line of this match. */
  readonly limit: number
  readonly hasText: boolean
  count: number
}

/** How much of a part of a very long line is searched again with the next part. UTF-16 units. */
const OVERLAP = 4_096
/** Maximum length of the text of a match. UTF-16 units. */
const MAX_TEXT = 1_000
/** How much of a longer line is shown before the match. UTF-16 units. */
const TEXT_BEFORE = 100

/** The search in one stream. */
export class StreamSearch {
  readonly matches: [line: number, column: number, length: number][] = []
  /** The text around each match. */
  readonly texts: string[] = []
  readonly #found: Matches
  /** Number of the line at the start of the next block. */
  #line: number
  /** End of the visible text of that line so far, and its column. */
  #tail = ''
  #tailColumn = 0
  #isAtLineStart = true
  /** The line at which the search stopped within a block. */
  #stop: number | undefined

  /** Starts at a line. */
  constructor(found: Matches, line: number) {
    this.#found = found
    this.#line = line
  }

  /** The line at which the search continues. */
  get next(): number {
    return this.#stop ?? this.#line
  }

  /** True if the limit is reached. */
  get isFull(): boolean {
    return this.#found.count >= this.#found.limit
  }

  /** False within a very long line. */
  get isAtLineStart(): boolean {
    return this.#isAtLineStart
  }

  /** Searches a block from `wholeLines`. Yields before each further line with a match, where the caller may stop. */
  *take(bytes: Buffer): Generator<undefined> {
    const text = this.#tail + visibleText(bytes.toString())
    const known = this.#tail.length
    let line = this.#line
    let lineStart = 0
    for (const match of this.#found.find(text)) {
      if (known > 0 && match.index + match.length <= known) continue
      for (let end = text.indexOf('\n', lineStart); end >= 0 && end < match.index; end = text.indexOf('\n', lineStart)) {
        line += 1
        lineStart = end + 1
      }
      const last = this.matches.at(-1)?.[0]
      if (last !== line) {
        this.#stop = line
        if (this.isFull) return
        yield
      }
      this.#stop = undefined
      this.#add(text, match, { line, lineStart })
    }
    this.#stop = undefined
    this.#finish(bytes, text)
  }

  #add(text: string, { index, length }: Found, { line, lineStart }: { line: number; lineStart: number }): void {
    const column = index - lineStart
    this.matches.push([line, line === this.#line ? this.#tailColumn + column : column, length])
    this.#found.count += 1
    if (!this.#found.hasText) return
    const newline = text.indexOf('\n', index)
    const whole = text.slice(lineStart, newline < 0 ? text.length : newline)
    const from = whole.length <= MAX_TEXT ? 0 : Math.max(0, column - TEXT_BEFORE)
    this.texts.push(whole.slice(from, from + MAX_TEXT))
  }

  #finish(bytes: Buffer, text: string): void {
    const lines = countNewlines(bytes)
    this.#isAtLineStart = bytes.at(-1) === NEWLINE
    const start = lines === 0 ? this.#tailColumn : 0
    const rest = this.#isAtLineStart ? '' : text.slice(text.lastIndexOf('\n') + 1)
    this.#tail = rest.slice(-OVERLAP)
    this.#tailColumn = this.#isAtLineStart ? 0 : start + rest.length - this.#tail.length
    this.#line += lines
    // The search stops after the line that reached the limit.
    if (this.isFull && (this.matches.at(-1)?.[0] ?? -1) >= this.#line) this.#stop = this.#line + 1
  }
}
