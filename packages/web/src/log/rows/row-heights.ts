/** The heights of rows by their lines. Those of rows that wrap are measured; the others follow from what the rows show. Pixels. */
import { ROW_HEIGHT } from './window.ts'

export class RowHeights {
  readonly #known = new Map<number, number>()
  #wraps: boolean
  #usual = ROW_HEIGHT

  constructor(wraps: boolean) {
    this.#wraps = wraps
  }

  /** Estimate for a row that was not drawn. */
  get usual(): number {
    return this.#usual
  }

  /** Returns the height of a row, or its estimate. */
  of(line: number): number {
    return this.#known.get(line) ?? this.#usual
  }

  /** Notes the heights of drawn rows. Returns true if one differs from what `of` returned. */
  note(heights: Iterable<readonly [line: number, height: number]>): boolean {
    let hasChanged = false
    for (const [line, height] of heights) {
      hasChanged ||= this.of(line) !== height
      // Millions of rows have the usual height.
      if (this.#wraps || height !== this.#usual) this.#known.set(line, height)
      else this.#known.delete(line)
    }
    return hasChanged
  }

  /** Makes the average of the rows that wrap the estimate. */
  settle(): void {
    if (!this.#wraps || this.#known.size === 0) return
    const sum = [...this.#known.values()].reduce((total, height) => total + height, 0)
    this.#usual = Math.max(ROW_HEIGHT, sum / this.#known.size)
  }

  /** Forgets the heights after the width of the rows has changed. */
  clear(): void {
    this.#known.clear()
  }

  /** Forgets everything when wrapping changes. */
  reset(wraps: boolean): void {
    this.#wraps = wraps
    this.#usual = ROW_HEIGHT
    this.#known.clear()
  }
}

/** Returns the height of a row that does not wrap: one line, and one for the pause before it. */
export function plainHeight(gapMs: number): number {
  return gapMs > 0 ? 2 * ROW_HEIGHT : ROW_HEIGHT
}
