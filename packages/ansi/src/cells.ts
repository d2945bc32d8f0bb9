/** Maximum column to which a sequence moves beyond the end of the line. */
const MAX_COLUMN = 1_000

/** Commands that `move` carries out. */
export const MOVES: ReadonlySet<string> = new Set(['\r', '\b', 'C', 'D', 'G', 'K'])

/** One line of a terminal. A cell has one UTF-16 unit, and the look with which it was written. */
export class Cells<Look> {
  readonly #cells: string[] = []
  readonly #looks: Look[] = []
  readonly #blank: Look
  #column = 0
  /** Whether the cursor has moved back since the last text. */
  #isBack = false
  /** Number of times text was written after the cursor had moved back. */
  updates = 0

  /** `blank` is the look of cells that are skipped. */
  constructor(blank: Look) {
    this.#blank = blank
  }

  write(text: string, look: Look): void {
    if (text === '') return
    while (this.#cells.length < this.#column) {
      this.#cells.push(' ')
      this.#looks.push(this.#blank)
    }
    for (let at = 0; at < text.length; at += 1) {
      this.#cells[this.#column + at] = text.charAt(at)
      this.#looks[this.#column + at] = look
    }
    this.#column += text.length
    if (this.#isBack) this.updates += 1
    this.#isBack = false
  }

  /** Carries out one of `MOVES`: a control character, or a CSI sequence by its final character. Ignores other commands. */
  move(command: string, parameter: string): void {
    const count = parameter === '' ? 1 : Number(parameter)
    if (command === '\r') this.#moveTo(0)
    else if (command === '\b') this.#moveTo(this.#column - 1)
    else if (command === 'D') this.#moveTo(this.#column - count)
    else if (command === 'C') this.#moveTo(this.#column + count)
    else if (command === 'G') this.#moveTo(count - 1)
    else if (command === 'K') this.#erase(parameter)
  }

  #moveTo(column: number): void {
    if (Number.isNaN(column)) return
    const to = Math.max(0, Math.min(column, Math.max(MAX_COLUMN, this.#cells.length)))
    if (to < this.#column) this.#isBack = true
    this.#column = to
  }

  /** Erases the rest of the line, or all of it. */
  #erase(parameter: string): void {
    if (parameter === '2') {
      this.#keep(0)
      // Else each erasure of a long line would cost as many blanks as the line had cells.
      this.#column = Math.min(this.#column, MAX_COLUMN)
    } else if (parameter === '' || parameter === '0') this.#keep(this.#column)
  }

  #keep(length: number): void {
    this.#cells.length = Math.min(this.#cells.length, length)
    this.#looks.length = this.#cells.length
  }

  text(): string {
    return this.#cells.join('')
  }

  /** Yields the longest parts with the same look. */
  *runs(): Generator<{ text: string; look: Look }> {
    for (let from = 0; from < this.#cells.length;) {
      const look = this.#looks[from] ?? this.#blank
      let to = from + 1
      while (to < this.#cells.length && this.#looks[to] === look) to += 1
      yield { text: this.#cells.slice(from, to).join(''), look }
      from = to
    }
  }
}
