/** Bytes of a stream to lines of text, in pieces of any size. */
import { charBoundary } from './utf8.ts'

const NEWLINE = 10

/** Longer lines are cut. Bytes; the same value as `MAX_LINE_BYTES` of the package protocol. */
export const LONGEST_LINE_BYTES = 16_384

export interface DecodedLine {
  /** Text without the line feed. Bytes that are not UTF-8 are U+FFFD. */
  readonly text: string
  /** Number of bytes that are left out at its end. */
  readonly cut: number
}

/** Reads lines from a stream. Holds at most the shown part of one line. */
export class LineReader {
  readonly #decoder = new TextDecoder('utf-8', { ignoreBOM: true })
  /** Start of the current line, with one byte more than is shown. */
  #held = new Uint8Array(0)
  #dropped = 0

  /** Returns the lines that these bytes complete. */
  push(bytes: Uint8Array): DecodedLine[] {
    const lines: DecodedLine[] = []
    let from = 0
    for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, from)) {
      this.#hold(bytes.subarray(from, end))
      lines.push(this.rest)
      this.#held = new Uint8Array(0)
      this.#dropped = 0
      from = end + 1
    }
    this.#hold(bytes.subarray(from))
    return lines
  }

  /** The text after the last line feed. It grows with further bytes. */
  get rest(): DecodedLine {
    const shown = charBoundary(this.#held, LONGEST_LINE_BYTES)
    return { text: this.#decoder.decode(this.#held.subarray(0, shown)), cut: this.#held.length + this.#dropped - shown }
  }

  /** True if no bytes follow the last line feed. */
  get isAtLineStart(): boolean {
    return this.#held.length === 0
  }

  #hold(bytes: Uint8Array): void {
    const room = LONGEST_LINE_BYTES + 1 - this.#held.length
    const kept = bytes.subarray(0, Math.max(0, room))
    if (kept.length > 0) {
      const joined = new Uint8Array(this.#held.length + kept.length)
      joined.set(this.#held)
      joined.set(kept, this.#held.length)
      this.#held = joined
    }
    this.#dropped += bytes.length - kept.length
  }
}
