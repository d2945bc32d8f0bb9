/** The output of one of several containers: whole lines prefixed with its name, and the last lines for messages. */
import { stripVTControlCharacters } from 'node:util'
import type { OutputPart } from '../docker/demux.ts'

const NEWLINE = 10
/** Longer lines are split. Bytes. */
const MAX_LINE_BYTES = 65_536
const KEPT_LINES = 10
const KEPT_CHARS = 300

export class ContainerLines {
  readonly #prefix: Buffer
  readonly #last: string[] = []
  #rest = Buffer.alloc(0)

  /** `prefix` precedes each line, for example `db_1  | `. */
  constructor(prefix: string) {
    this.#prefix = Buffer.from(prefix)
  }

  /** Adds output and returns the lines that are complete. */
  push(parts: readonly OutputPart[]): OutputPart[] {
    const lines: Buffer[] = []
    let text = Buffer.concat([this.#rest, ...parts.map(({ bytes }) => bytes)])
    for (let end = text.indexOf(NEWLINE); end >= 0 || text.length > MAX_LINE_BYTES; end = text.indexOf(NEWLINE)) {
      const length = end >= 0 && end <= MAX_LINE_BYTES ? end : MAX_LINE_BYTES
      lines.push(...this.#toLine(text.subarray(0, length)))
      text = text.subarray(end === length ? length + 1 : length)
    }
    this.#rest = Buffer.from(text)
    return lines.length === 0 ? [] : [{ source: 1, bytes: Buffer.concat(lines) }]
  }

  /** Returns the unterminated last line, once the container has ended. */
  end(): OutputPart[] {
    if (this.#rest.length === 0) return []
    const bytes = Buffer.concat(this.#toLine(this.#rest))
    this.#rest = Buffer.alloc(0)
    return [{ source: 1, bytes }]
  }

  /** The last lines, unmasked. */
  get last(): readonly string[] {
    return this.#last
  }

  #toLine(line: Buffer): Buffer[] {
    const text = stripVTControlCharacters(line.toString('utf8', 0, KEPT_CHARS)).trim()
    if (text !== '') this.#last.push(text)
    if (this.#last.length > KEPT_LINES) this.#last.shift()
    return [this.#prefix, line, Buffer.from('\n')]
  }
}
