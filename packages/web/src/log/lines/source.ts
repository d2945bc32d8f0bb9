/**
 * Lines of one stream by number. They are read in blocks as the view needs them, and a limited number of blocks is kept. The end of a live stream is
 * held apart, because it arrives as bytes.
 */
import { colorsAfter, type Style } from '@windlass/ansi'
import type { LogLines } from '@windlass/protocol'

export const BLOCK_LINES = 512
const MAX_BLOCKS = 64
/** Maximum size of all kept blocks. UTF-16 units, of which a plain text needs one byte each. */
const MAX_CHARS = 24 * 1024 * 1024
/** While the view moves faster than lines arrive, blocks are read after it has stayed at them for this time. Milliseconds. */
const SETTLE_MS = 50
/** Lines that are read before a tail begins after them: more than a view has rows. */
const LINES_BEFORE_TAIL = 256
const MAX_TAIL_LINES = 8_192
const MAX_TAIL_CHARS = 4 * 1024 * 1024

export interface Line {
  /** Text with its escape sequences, without the line feed. */
  readonly text: string
  /** Style at its start. */
  readonly style: Style
  /** Number of bytes that are left out at its end. */
  readonly cut: number
  /** Time of the output. Epoch milliseconds. */
  readonly at?: number
}

/** Reads lines. Rejects with an `AbortError` after an abort, otherwise with a fault. */
export type LoadLines = (range: { from: number; count: number }, signal: AbortSignal) => Promise<LogLines>

interface Block {
  readonly lines: Line[]
  chars: number
  /** True if its last line was unfinished when it was read. */
  isOpen: boolean
}

const emptyBlock = (): Block => ({ lines: [], chars: 0, isOpen: false })

/** Returns the lines of an answer. */
export function linesOf(answer: LogLines): Line[] {
  const texts = answer.text.split('\n')
  if (texts.length > answer.lines) texts.length = Math.min(answer.lines, texts.length - 1)
  const cuts = new Map(answer.cut)
  let style: Style = answer.sgr
  let time = 0
  return texts.map((text, index) => {
    const number = answer.from + index
    while ((answer.times[time + 1]?.[0] ?? Infinity) <= number) time += 1
    const at = answer.times[time]?.[1]
    const line = { text, style, cut: cuts.get(number) ?? 0, ...(at !== undefined && { at }) }
    if (text.includes('\u001B')) style = colorsAfter(text, style)
    return line
  })
}

export class LineSource {
  readonly #load: LoadLines
  readonly #changed: () => void
  /** By number. The latest used one is the last. */
  readonly #blocks = new Map<number, Block>()
  readonly #loading = new Map<number, AbortController>()
  /** The blocks in view, which are read when the timer ends. */
  #settling: { readonly from: number; readonly to: number; readonly timer: ReturnType<typeof setTimeout> } | undefined
  #chars = 0
  #tail: Line[] = []
  /** `Infinity` while there is no tail. */
  #tailFirst = Infinity
  #tailChars = 0
  readonly #abort = new AbortController()
  #total = 0
  /** The last error of a read; undefined after a successful one. */
  error: unknown

  /** `changed` is called after lines arrive and after a read fails. */
  constructor(load: LoadLines, changed: () => void) {
    this.#load = load
    this.#changed = changed
  }

  /** Number of lines that are known to exist. It only grows. */
  get total(): number {
    return this.#total
  }

  /** Number of UTF-16 units in memory. */
  get chars(): number {
    return this.#chars + this.#tailChars
  }

  /** Returns a line if it is in memory. */
  lineAt(number: number): Line | undefined {
    if (number >= this.#tailFirst) return this.#tail[number - this.#tailFirst]
    return this.#blocks.get(Math.floor(number / BLOCK_LINES))?.lines[number % BLOCK_LINES]
  }

  /** Announces that the stream has this number of lines. */
  grow(total: number): void {
    this.#total = Math.max(this.#total, total)
  }

  /** Adds lines that were read elsewhere, from the first line of a block. */
  add(answer: LogLines): void {
    this.#note(answer)
    const number = Math.floor(answer.from / BLOCK_LINES)
    this.#forget(number)
    this.#add(number, emptyBlock(), answer)
  }

  /** Notes the number of lines of the stream, unless the tail does: the end of the stream arrives there. */
  #note({ total }: LogLines): void {
    if (this.#tailFirst === Infinity) this.grow(total)
  }

  /**
   * Reads the blocks of these lines, and then the next one in the direction of the movement. Aborts reads of other blocks. After an abort it waits until the
   * view stays where it is, because each read of a moving view would be aborted as well.
   */
  want(first: number, last: number, direction: 1 | -1): void {
    const from = Math.max(0, Math.floor(first / BLOCK_LINES))
    const to = Math.floor(Math.min(last, this.#total - 1) / BLOCK_LINES)
    const ahead = direction > 0 ? to + 1 : from - 1
    const passed = [...this.#loading].filter(([block]) => (block < from || block > to) && block !== ahead)
    for (const [block, abort] of passed) {
      this.#loading.delete(block)
      abort.abort()
    }
    for (let block = from; block <= to; block += 1) this.#touch(block)
    const isMoving = this.#settling !== undefined && (this.#settling.from !== from || this.#settling.to !== to)
    const read = (): void => {
      if (!this.#readMissing(from, to)) this.#readMissing(ahead, ahead)
    }
    if (passed.length > 0 || isMoving) this.#settle({ from, to, read })
    else if (this.#settling === undefined) read()
  }

  #settle({ from, to, read }: { readonly from: number; readonly to: number; readonly read: () => void }): void {
    clearTimeout(this.#settling?.timer)
    const timer = setTimeout(() => {
      this.#settling = undefined
      read()
    }, SETTLE_MS)
    this.#settling = { from, to, timer }
  }

  /** Begins to read blocks that are not in memory. Returns true if one is being read. */
  #readMissing(from: number, to: number): boolean {
    let isReading = false
    for (let block = from; block <= to; block += 1) {
      if (!this.#isMissing(block)) continue
      isReading = true
      if (!this.#loading.has(block)) void this.#read(block)
    }
    return isReading
  }

  /** Reads again what could not be read. */
  retry(): void {
    this.error = undefined
    this.#changed()
  }

  /** Reads the lines that a view of the end shows before a line, except those in memory. Rejects as `LoadLines` does, also after `close`. */
  readBefore(line: number): Promise<LogLines[]> {
    const first = Math.floor(Math.max(0, line - LINES_BEFORE_TAIL) / BLOCK_LINES)
    const last = Math.floor((line - 1) / BLOCK_LINES)
    const reads: Promise<LogLines>[] = []
    for (let block = first; block <= last; block += 1) {
      const from = block * BLOCK_LINES
      const { lines, isOpen } = this.#blocks.get(block) ?? emptyBlock()
      if (from + lines.length - Number(isOpen) < Math.min(line, from + BLOCK_LINES))
        reads.push(this.#load({ from, count: BLOCK_LINES }, this.#abort.signal))
    }
    return Promise.all(reads)
  }

  /** Sets the lines at the end of a live stream, from a number on. `before` are answers to `readBefore`. */
  startTail(first: number, before: readonly LogLines[] = []): void {
    const end = Math.floor((this.#total - 1) / BLOCK_LINES)
    if (this.#blocks.get(end)?.isOpen === true) this.#forget(end)
    this.#tail = []
    this.#tailFirst = first
    this.#tailChars = 0
    for (const answer of before) this.add(answer)
  }

  /** Sets the lines from number `count` on, at the end of the stream. An unfinished line that was set before is replaced. */
  addToTail(lines: readonly Line[], count: number): void {
    for (const { text } of this.#tail.splice(Math.max(0, count - this.#tailFirst))) this.#tailChars -= text.length
    for (const line of lines) {
      this.#tail.push(line)
      this.#tailChars += line.text.length
    }
    let dropped = 0
    // The last line stays: it may be unfinished, and the next call replaces it.
    while (
      dropped < this.#tail.length - 1 &&
      (this.#tail.length - dropped > MAX_TAIL_LINES || this.#tailChars > MAX_TAIL_CHARS)
    ) {
      this.#tailChars -= this.#tail[dropped]?.text.length ?? 0
      dropped += 1
    }
    if (dropped > 0) {
      this.#tail.splice(0, dropped)
      this.#tailFirst += dropped
    }
    this.grow(this.#tailFirst + this.#tail.length)
    this.#changed()
  }

  /** Aborts all reads. */
  close(): void {
    clearTimeout(this.#settling?.timer)
    this.#abort.abort()
    for (const abort of this.#loading.values()) abort.abort()
  }

  #isMissing(block: number): boolean {
    if (this.error !== undefined) return false
    const first = block * BLOCK_LINES
    const last = Math.min(first + BLOCK_LINES, this.#total, this.#tailFirst)
    return block >= 0 && first < last && (this.#blocks.get(block)?.lines.length ?? 0) < last - first
  }

  async #read(number: number): Promise<void> {
    const abort = new AbortController()
    this.#loading.set(number, abort)
    try {
      const block = this.#blocks.get(number) ?? emptyBlock()
      // A whole block has the same address each time, so the browser keeps it. A second part is read if the first one is too large for one answer.
      const from = number * BLOCK_LINES + block.lines.length
      const count = BLOCK_LINES - block.lines.length
      const answer = await this.#load({ from, count }, abort.signal)
      if (abort.signal.aborted) return
      this.#note(answer)
      this.#add(number, block, answer)
      this.error = undefined
    } catch (error) {
      if (!abort.signal.aborted) this.error = error
    } finally {
      if (this.#loading.get(number) === abort) this.#loading.delete(number)
      if (!abort.signal.aborted) this.#changed()
    }
  }

  #add(number: number, block: Block, answer: LogLines): void {
    // Lines of the tail are not kept here: the last one may be unfinished.
    const lines = linesOf(answer).slice(0, Math.max(0, this.#tailFirst - answer.from))
    if (lines.length === 0) return
    block.isOpen = lines.length === answer.lines && !answer.text.endsWith('\n')
    for (const line of lines) {
      block.lines.push(line)
      block.chars += line.text.length
      this.#chars += line.text.length
    }
    this.#blocks.delete(number)
    this.#blocks.set(number, block)
    for (const [oldest, { chars }] of this.#blocks) {
      if (oldest === number || (this.#blocks.size <= MAX_BLOCKS && this.#chars <= MAX_CHARS)) break
      this.#blocks.delete(oldest)
      this.#chars -= chars
    }
  }

  #touch(number: number): void {
    const block = this.#blocks.get(number)
    if (block === undefined) return
    this.#blocks.delete(number)
    this.#blocks.set(number, block)
  }

  #forget(number: number): void {
    this.#chars -= this.#blocks.get(number)?.chars ?? 0
    this.#blocks.delete(number)
  }
}
