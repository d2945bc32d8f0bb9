import { stripVTControlCharacters } from 'node:util'

/** Lines of a table with two spaces between columns; the last column is not padded. Cells may hold colours. */
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

/** Characters that a terminal shows, colours left out. */
export function widthOf(text: string): number {
  return Array.from(stripVTControlCharacters(text)).length
}

/** Cuts a text to a width, with an ellipsis where something is left out. */
export function cut(text: string, width: number): string {
  const characters = Array.from(text)
  return characters.length <= width ? text : `${characters.slice(0, Math.max(0, width - 1)).join('')}…`
}
