/** Text tables with columns of fixed width and word wrap. */

export interface Cell {
  readonly text: string
  /** ANSI color code. */
  readonly colour?: number
}

/** Returns the lines of one row: each cell is wrapped and padded to its width, with `between` between the cells. */
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

/** Wraps the text in an ANSI color. */
export function paint(text: string, colour: number): string {
  return `\u001B[${colour}m${text}\u001B[39m`
}

/** Wraps a text to lines of at most `width` characters; longer words are cut. Linear in the text. */
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
