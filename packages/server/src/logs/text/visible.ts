/**
 * The text that a terminal shows for output: without escape sequences, and after carriage returns and backspaces took effect. Line feeds stay, so lines keep
 * their numbers. Each line is shown by itself, so a sequence ends with its line at the latest.
 */

// oxlint-disable-next-line no-control-regex
const COLORS = /\u001B\[[\d;:]*m/g
/** Control characters other than tab and line feed. */
// oxlint-disable-next-line no-control-regex
const CONTROLS = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F]/
/**
 * CSI sequences with their parameters and final character; OSC, DCS, SOS, PM and APC strings; other escapes; and other control characters except tab.
 * Incomplete sequences end with the line.
 */
const SEQUENCE =
  // oxlint-disable-next-line no-control-regex
  /(?:\u001B\[|\u009B)([0-?]*)[ -/]*([@-~]?)|\u001B[\]PX^_][^\u0007\u001B]*(?:\u0007|\u001B\\|$|(?=\u001B))|\u001B[ -/]*[0-~]?|([\u0000-\u0008\u000B-\u001F\u007F-\u009F])/g
/** Maximum column to which a sequence moves beyond the end of the line. */
const MAX_COLUMN = 1_000

/** Returns the visible text of whole lines. */
export function visibleText(text: string): string {
  const plain = text.includes('\u001B') ? text.replace(COLORS, '') : text
  const unix = plain.includes('\r') ? plain.replaceAll('\r\n', '\n') : plain
  return CONTROLS.test(unix) ? unix.split('\n').map(visibleLine).join('\n') : unix
}

function visibleLine(line: string): string {
  if (!CONTROLS.test(line)) return line
  const cells = new Cells()
  let from = 0
  for (const match of line.matchAll(SEQUENCE)) {
    cells.write(line.slice(from, match.index))
    from = match.index + match[0].length
    const [, parameter = '', final = '', control = ''] = match
    cells.move(final === '' ? control : final, parameter)
  }
  cells.write(line.slice(from))
  return cells.text()
}

/** One line of a terminal. A cell has one UTF-16 unit. */
class Cells {
  readonly #cells: string[] = []
  #column = 0

  write(text: string): void {
    if (text === '') return
    while (this.#cells.length < this.#column) this.#cells.push(' ')
    for (let at = 0; at < text.length; at += 1) this.#cells[this.#column + at] = text.charAt(at)
    this.#column += text.length
  }

  /** Carries out a control character, or a CSI sequence by its final character. Ignores those that do not change the text of one line. */
  move(command: string, parameter: string): void {
    const count = parameter === '' ? 1 : Number(parameter)
    if (command === '\r') this.#column = 0
    else if (command === '\b') this.#moveTo(this.#column - 1)
    else if (command === 'D') this.#moveTo(this.#column - count)
    else if (command === 'C') this.#moveTo(this.#column + count)
    else if (command === 'G') this.#moveTo(count - 1)
    else if (command === 'K') this.#erase(parameter)
  }

  #moveTo(column: number): void {
    if (Number.isNaN(column)) return
    this.#column = Math.max(0, Math.min(column, Math.max(MAX_COLUMN, this.#cells.length)))
  }

  /** Erases the rest of the line, or all of it. */
  #erase(parameter: string): void {
    if (parameter === '2') this.#cells.length = 0
    else if (parameter === '' || parameter === '0') this.#cells.length = Math.min(this.#cells.length, this.#column)
  }

  text(): string {
    return this.#cells.join('')
  }
}
