import { stripVTControlCharacters } from 'node:util'

/** Returns the lines of a table with two spaces between columns. The last column is not padded. Cells may contain colors. */
export function alignColumns(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) {
    for (const [index, cell] of row.entries()) widths[index] = Math.max(widths[index] ?? 0, widthOf(cell))
  }
  return rows.map((row) =>
    row
      .map((cell, index) => cell + ' '.repeat(index === row.length - 1 ? 0 : (widths[index] ?? 0) - widthOf(cell)))
      .join('  ')
      .trimEnd(),
  )
}

/** Returns the number of visible characters, without color codes. */
export function widthOf(text: string): number {
  return Array.from(stripVTControlCharacters(text)).length
}

/** Cuts a text to a width, with an ellipsis if it is longer. */
export function cut(text: string, width: number): string {
  const characters = Array.from(text)
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`
}
