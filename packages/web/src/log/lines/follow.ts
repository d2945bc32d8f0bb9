/** Adds the output of a live stream to its lines. */
import { LineReader, tokenizeLine, type DecodedLine, type Style } from '@windlass/ansi'
import { fromBase64 } from '@windlass/client/terminal'
import type { LogLines, StreamEvent } from '@windlass/protocol'
import { linesOf, type Line, type LineSource } from './source.ts'

export interface FollowOptions {
  readonly source: LineSource
  /** Reads the last line. */
  readonly loadLast: () => Promise<LogLines>
  /** Follows the bytes of the stream from an offset. Returns a function that ends this. */
  readonly followBytes: (offset: number, listen: (event: StreamEvent) => void) => () => void
  /** Returns the time. Epoch milliseconds. */
  readonly now: () => number
  readonly ended: () => void
  readonly failed: (error: unknown) => void
}

/** Follows until `close`. Bytes may repeat; those that the server leaves out are read by lines. */
export class Follower {
  readonly #options: FollowOptions
  #reader = new LineReader()
  /** Style at the start of the unfinished line. */
  #style: Style = ''
  /** Number of finished lines, and offset of the next byte. */
  #lines = 0
  #next = 0
  #stop: (() => void) | undefined
  #isClosed = false
  #starts = 0

  constructor(options: FollowOptions) {
    this.#options = options
  }

  /** Begins at the last line. Rows before it are read in blocks. */
  async start(): Promise<void> {
    this.#starts += 1
    const start = this.#starts
    this.#stop?.()
    try {
      const last = await this.#options.loadLast()
      if (this.#isClosed || start !== this.#starts) return
      const isFinished = last.lines > 0 && last.text.endsWith('\n')
      const { source } = this.#options
      const lines = isFinished ? last.total : Math.max(0, last.total - 1)
      // A view of the end shows what it has until these are read, instead of rows without text.
      const linesBefore = await source.readBefore(lines)
      if (this.#isClosed || start !== this.#starts) return
      this.#reader = new LineReader()
      this.#lines = lines
      this.#next = isFinished ? last.startByte + last.bytes : last.startByte
      this.#style = isFinished ? tokenizeLine(last.text.slice(0, -1), last.sgr).style : last.sgr
      source.startTail(lines, linesBefore)
      source.addToTail(isFinished ? [] : linesOf(last), lines)
      this.#stop = this.#options.followBytes(this.#next, (event) => this.#take(event))
    } catch (error) {
      if (!this.#isClosed) this.#options.failed(error)
    }
  }

  close(): void {
    this.#isClosed = true
    this.#stop?.()
  }

  #take(event: StreamEvent): void {
    if (this.#isClosed) return
    if (event.event === 'log') this.#add(event.data.offset, fromBase64(event.data.bytes))
    else if (event.event === 'behind') void this.start()
    else if (event.event === 'end') this.#options.ended()
  }

  #add(offset: number, bytes: Uint8Array): void {
    if (offset > this.#next) {
      void this.start()
      return
    }
    const fresh = bytes.subarray(this.#next - offset)
    if (fresh.length === 0) return
    this.#next += fresh.length
    const at = this.#options.now()
    const before = this.#lines
    const lines = this.#reader.push(fresh).map((line) => this.#toLine(line, at))
    this.#lines += lines.length
    if (!this.#reader.isAtLineStart) {
      const { text, cut } = this.#reader.rest
      lines.push({ text, cut, style: this.#style, at })
    }
    this.#options.source.addToTail(lines, before)
  }

  #toLine({ text, cut }: DecodedLine, at: number): Line {
    const line = { text, cut, style: this.#style, at }
    if (text.includes('\u001B')) this.#style = tokenizeLine(text, this.#style).style
    return line
  }
}
