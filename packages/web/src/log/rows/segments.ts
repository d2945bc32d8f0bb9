/** Which lines are rows: all except those that closed folds hide. Lines and rows are numbered from 0. */
import type { Fold } from '../lines/marks.ts'

/** A range of hidden lines, without the heading of its fold. */
interface Hidden {
  readonly from: number
  readonly to: number
  /** Number of hidden lines before this range. */
  readonly before: number
}

export class Segments {
  readonly #hidden: readonly Hidden[]
  readonly #hiddenLines: number
  readonly #lines: number

  /** `closed` may nest and overlap. */
  constructor(lines: number, closed: readonly Fold[] = []) {
    const merged: { from: number; to: number }[] = []
    for (const { from, to } of closed.toSorted((a, b) => a.from - b.from)) {
      const range = { from: from + 1, to: Math.min(to, lines - 1) }
      const last = merged.at(-1)
      if (range.to < range.from) continue
      if (last !== undefined && range.from <= last.to + 1) last.to = Math.max(last.to, range.to)
      else merged.push(range)
    }
    let before = 0
    this.#hidden = merged.map(({ from, to }) => {
      const range = { from, to, before }
      before += to - from + 1
      return range
    })
    this.#hiddenLines = before
    this.#lines = lines
  }

  /** Number of rows. */
  get rows(): number {
    return this.#lines - this.#hiddenLines
  }

  /** Returns the line of a row. */
  lineOf(row: number): number {
    const range = this.#lastBefore(({ from, before }) => from - before <= row)
    return range === undefined ? row : row + range.before + (range.to - range.from + 1)
  }

  /** Returns the row of a line; of a hidden line, that of the heading above it. */
  rowOf(line: number): number {
    const range = this.#lastBefore(({ from }) => from <= line)
    if (range === undefined) return line
    return line <= range.to ? range.from - range.before - 1 : line - range.before - (range.to - range.from + 1)
  }

  /** Returns true if a closed fold hides the line. */
  isHidden(line: number): boolean {
    const range = this.#lastBefore(({ from }) => from <= line)
    return range !== undefined && line <= range.to
  }

  /** Returns the last range for which the test holds; it holds for the first ones and not for the rest. */
  #lastBefore(holds: (range: Hidden) => boolean): Hidden | undefined {
    let low = 0
    let high = this.#hidden.length
    while (low < high) {
      const middle = (low + high) >> 1
      const range = this.#hidden[middle]
      if (range !== undefined && holds(range)) low = middle + 1
      else high = middle
    }
    return this.#hidden[low - 1]
  }
}
