/** Tables of text in columns of fixed width, wrapped at words. */

export interface Cell {
  readonly text: string
  /** ANSI code of its colour. */
  readonly colour?: number
}

/** Lines of one row: each cell is wrapped to its width and filled with spaces; `between` stands between cells. */
export function tableRow(cells: readonly Cell[], widths: readonly number[], between: string): string[] {
  const wrapped = cells.map(({ text }, index) => wrap(text, widths[index] ?? 80))
  const height = Math.max(...wrapped.map(({ length }) => length))
  return Array.from({ length: height }, (_, line) =>
    cells
      .map(({ colour }, index) => {
        const text = wrapped[index]?.[line] ?? ''
        const filled = text.padEnd(widths[index] ?? 80)
        return colour === undefined || text === '' ? filled : paint(text, colour) + filled.slice(text.length)
      })
      .join(between)
      .trimEnd(),
  )
}

export const RED = 31
export const GREEN = 32
export const YELLOW = 33

/** The text in an ANSI colour. */
export function paint(text: string, colour: number): string {
  return `\u001B[${colour}m${text}\u001B[39m`
}

/** Lines of at most `width` characters; a word that is longer is cut. Linear in the text. */
export function wrap(text: string, width: number): string[] {
  const lines: string[] = []
  for (const paragraph of text.split('\n')) {
    let line = ''
    for (const word of paragraph.split(' ')) {
      if (line !== '' && line.length + 1 + word.length > width) {
        lines.push(line)
        line = ''
      }
      line = line === '' ? word : `${line} ${word}`
      while (line.length > width) {
        lines.push(line.slice(0, width))
        line = line.slice(width)
      }
    }
    lines.push(line)
  }
  return lines
}
