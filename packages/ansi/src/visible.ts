/**
 * The text that a terminal shows for output: without escape sequences, and after carriage returns and backspaces took effect. Line feeds stay, so lines keep
 * their numbers. Each line is shown by itself, so a sequence ends with its line at the latest.
 */
import { Cells } from './cells.ts'
import { COLORS, CONTROLS, SEQUENCE } from './sequences.ts'

/** Returns the visible text of whole lines. */
export function visibleText(text: string): string {
  const plain = text.includes('\u001B') ? text.replace(COLORS, '') : text
  const unix = plain.includes('\r') ? plain.replaceAll('\r\n', '\n') : plain
  if (!CONTROLS.test(unix)) return unix
  // A line with other control characters is read with its colors: without them, an escape before a color would join the text after it.
  const lines = text.split('\n')
  return unix
    .split('\n')
    .map((line, index) => (CONTROLS.test(line) ? visibleLine(lines[index] ?? '') : line))
    .join('\n')
}

function visibleLine(line: string): string {
  const cells = new Cells('')
  let from = 0
  for (const match of line.matchAll(SEQUENCE)) {
    cells.write(line.slice(from, match.index), '')
    from = match.index + match[0].length
    const [, parameter = '', final = '', control = ''] = match
    cells.move(final === '' ? control : final, parameter)
  }
  cells.write(line.slice(from), '')
  return cells.text()
}
