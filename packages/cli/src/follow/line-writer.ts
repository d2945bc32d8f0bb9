/** Writes the lines of the view above its status line, with a blank line before each heading. */
import { sanitizeLine } from '@windlass/ansi'
import type { Clock } from '@windlass/kit'
import type { Terminal } from '../printer.ts'
import { textFor } from './line-splitter.ts'
import { openStatusLine, type StatusLine } from './status-line.ts'

/** Prefix of lines written by the engine. */
export const SYSTEM_MARK = '[SYSTEM]'

export class LineWriter implements Disposable {
  readonly #terminal: Terminal
  readonly #status: StatusLine
  #isFirst = true
  #afterSkipped = false
  #afterHeading = false

  constructor(terminal: Terminal, clock: Clock) {
    this.#terminal = terminal
    this.#status = openStatusLine(terminal, clock)
  }

  /** Sets the status line; undefined clears it. */
  setStatus(text: string | undefined): void {
    this.#status.set(text)
  }

  /** Writes a line of the view itself. */
  line(text: string): void {
    this.#write(textFor(this.#terminal, `${text}\n`))
  }

  /** Writes a line of a step. A pipe receives the raw bytes; on a terminal they must not move the cursor. */
  output(prefix: string, line: Buffer): void {
    if (!this.#terminal.isTTY) return this.#write(Buffer.concat([Buffer.from(prefix), line, Buffer.from('\n')]))
    const safe = sanitizeLine(line.toString())
    const shown = safe.startsWith(SYSTEM_MARK) ? this.#terminal.style.dim(safe) : `${safe}\u001B[0m`
    this.#write(`${prefix}${shown}\n`)
  }

  /** Writes lines of a step as they are. */
  whole(lines: Buffer): void {
    this.#write(lines)
  }

  /** Writes a heading, separated by a blank line unless it follows another heading. */
  heading(line: string): void {
    this.line(this.#isFirst || this.#afterHeading ? line : `\n${line}`)
    this.#afterHeading = true
  }

  /** Writes a heading that is separated from other headings, too. */
  title(line: string): void {
    this.#afterHeading = false
    this.heading(line)
    this.#afterHeading = false
  }

  /** Writes the line of a skipped step. There are no blank lines between several of them. */
  skipped(line: string): void {
    const text = this.#terminal.style.dim(line)
    if (this.#afterSkipped) this.line(text)
    else this.heading(text)
    this.#afterSkipped = true
  }

  /** Removes the status line. */
  [Symbol.dispose](): void {
    this.#status[Symbol.dispose]()
  }

  #write(bytes: string | Uint8Array): void {
    this.#isFirst = false
    this.#afterSkipped = false
    this.#afterHeading = false
    this.#status.write(bytes)
  }
}
