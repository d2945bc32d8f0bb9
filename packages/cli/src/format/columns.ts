import { stripVTControlCharacters } from 'node:util'

/** A value must not begin a row of its own. */
const LINE_END = /\s*[\r\n]+\s*/g

/**
 * Returns the lines of a table with two spaces between columns, one for each row: line feeds in cells become spaces. The last column is not padded. Cells may contain
 * colors.
 */
export function alignColumns(table: readonly (readonly string[])[]): string[] {
  const rows = table.map((row) => row.map((cell) => cell.replaceAll(LINE_END, ' ')))
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

/** A color code, which has no width. */
// oxlint-disable-next-line no-control-regex
const COLOR_CODE = /(\u001B\[[\d;]*m)/

/** Cuts a text to a width, with an ellipsis if it is longer. Color codes are kept, also those behind the cut, which end a color. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text
  let left = Math.max(0, width - 1)
  let isCut = false
  const parts = text.split(COLOR_CODE).map((part) => {
    if (COLOR_CODE.test(part)) return part
    const kept = Array.from(part).slice(0, left)
    left -= kept.length
    const ends = !isCut && kept.join('') !== part
    isCut ||= ends
    return kept.join('') + (ends ? '…' : '')
  })
  return parts.join('')
}
