/** A block of lines for `read-lines.ts`. */
import { charBoundary } from '@windlass/ansi'
import { NEWLINE } from './newlines.ts'

const RETURN = 13

interface Limits {
  /** Offset of the first line in the stream. Bytes. */
  readonly start: number
  readonly maxLines: number
  /** Maximum bytes of text. The first line is always taken. */
  readonly maxBytes: number
  /** Longer lines are cut. Bytes. */
  readonly maxLineBytes: number
}

/** Lines that are read one after the other, up to a number of lines and bytes. */
export class LineBlock {
  readonly #limits: Limits
  /** Offsets of the lines in the stream. */
  readonly starts: number[] = []
  /** Number of a line in the block, and how many of its bytes are left out. */
  readonly cut: [line: number, bytes: number][] = []
  readonly #texts: string[] = []
  #textBytes = 0
  /** What is kept of the current line. */
  #parts: Buffer[] = []
  #kept = 0
  #left = 0
  /** The end of the current line, of a line that is cut. */
  #tail: Buffer | undefined
  #endByte: number
  #isFull = false
  #endsLine = true

  constructor(limits: Limits) {
    this.#limits = limits
    this.#endByte = limits.start
  }

  /** Number of lines, without the current one. */
  get lines(): number {
    return this.#texts.length
  }

  /** True if no further line fits. */
  get isFull(): boolean {
    return this.#isFull
  }

  /** True if the rest of the current line is left out. */
  get isCutting(): boolean {
    return this.#left > 0
  }

  /** True if the current line overwrites itself with carriage returns, so that its last state is at its end. */
  get isRedrawing(): boolean {
    return this.#parts.some((part) => part.includes(RETURN))
  }

  /** True if the last line ends with a line feed. */
  get endsLine(): boolean {
    return this.#endsLine
  }

  /** Offset after the last line in the stream. Bytes. */
  get endByte(): number {
    return this.#endByte
  }

  /** Offset of the next byte to add. */
  get at(): number {
    return this.#endByte + this.#kept + this.#left
  }

  get text(): string {
    return this.#texts.join('')
  }

  /** Adds the next bytes of the current line, which end with a line feed if it is complete. */
  add(bytes: Buffer): void {
    const hasEnd = bytes.at(-1) === NEWLINE
    const body = hasEnd ? bytes.subarray(0, -1) : bytes
    const room = this.#left > 0 ? 0 : charBoundary(body, this.#limits.maxLineBytes - this.#kept)
    if (room > 0) this.#parts.push(body.subarray(0, room))
    this.#kept += room
    this.#left += body.length - room
    this.#tail = body.subarray(-this.#limits.maxLineBytes)
    if (hasEnd) this.#finish(true)
  }

  /** Leaves out the rest of the current line, which ends at this offset, with a line feed or not. `tail` is its end, for a line that overwrites itself. */
  skipTo(end: number, { hasEnd, tail }: { hasEnd: boolean; tail: Buffer | undefined }): void {
    this.#tail = tail
    this.#left = end - this.#endByte - this.#kept - (hasEnd ? 1 : 0)
    this.#finish(hasEnd)
  }

  /** Takes the current line as unfinished, if it has bytes. */
  end(): void {
    if (!this.#isFull && this.#kept + this.#left > 0) this.#finish(false)
  }

  #finish(hasEnd: boolean): void {
    const text = this.#lineText() + (hasEnd ? '\n' : '')
    // Bytes that are not UTF-8 become longer.
    const size = Buffer.byteLength(text)
    if (this.lines > 0 && this.#textBytes + size > this.#limits.maxBytes) this.#isFull = true
    else {
      if (this.#left > 0) this.cut.push([this.lines, this.#left])
      this.starts.push(this.#endByte)
      this.#texts.push(text)
      this.#textBytes += size
      this.#endByte += this.#kept + this.#left + (hasEnd ? 1 : 0)
      this.#endsLine = hasEnd
      this.#isFull = this.lines === this.#limits.maxLines
    }
    this.#parts = []
    this.#kept = 0
    this.#left = 0
    this.#tail = undefined
  }

  /** Returns the start of the current line, or what follows a carriage return near the end of a long line that overwrites itself. */
  #lineText(): string {
    const start = Buffer.concat(this.#parts)
    if (this.#left === 0 || !start.includes(RETURN)) return start.toString()
    const redrawn = this.#tail?.indexOf(RETURN) ?? -1
    return this.#tail === undefined || redrawn < 0 ? start.toString() : this.#tail.subarray(redrawn + 1).toString()
  }
}
