/** Splits the bytes of a stream into lines. Output need not be UTF-8, and a chunk may end within a character. */
import { sanitizeLine } from '@windlass/ansi'

const NEWLINE = 10
const RETURN = 13
/** Longer lines are split into parts, to bound the memory for output without line ends. */
const LONGEST_LINE_BYTES = 65_536

export interface LineSplitter {
  /** Returns the lines that these bytes complete, without line ends. */
  push(bytes: Uint8Array): Buffer[]
  /** Returns the completed lines as one buffer with their original line ends; undefined if no line is complete. */
  pushWhole(bytes: Uint8Array): Buffer | undefined
  /** Returns the text after the last line end, once; undefined if there is none. */
  flush(): Buffer | undefined
}

export function lineSplitter(): LineSplitter {
  let rest: Buffer = Buffer.alloc(0)
  const join = (bytes: Uint8Array): Buffer => {
    const fresh = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    return rest.length === 0 ? fresh : Buffer.concat([rest, fresh])
  }
  return {
    push(bytes) {
      const all = join(bytes)
      const lines: Buffer[] = []
      let start = 0
      for (let end = all.indexOf(NEWLINE); end >= 0; end = all.indexOf(NEWLINE, start)) {
        lines.push(all.subarray(start, all[end - 1] === RETURN && end > start ? end - 1 : end))
        start = end + 1
      }
      for (; all.length - start > LONGEST_LINE_BYTES; start += LONGEST_LINE_BYTES)
        lines.push(all.subarray(start, start + LONGEST_LINE_BYTES))
      rest = Buffer.from(all.subarray(start))
      return lines
    },
    pushWhole(bytes) {
      const all = join(bytes)
      const newline = all.lastIndexOf(NEWLINE)
      const end = newline < 0 && all.length > LONGEST_LINE_BYTES ? all.length : newline + 1
      rest = Buffer.from(all.subarray(end))
      return end === 0 ? undefined : all.subarray(0, end)
    },
    flush() {
      if (rest.length === 0) return undefined
      const last = rest
      rest = Buffer.alloc(0)
      return last
    },
  }
}

/** Returns the text for an output: on a terminal, each line is made safe like by `sanitizeLine`. A file or pipe receives it unchanged. */
export function textFor({ isTTY }: { readonly isTTY: boolean }, text: string): string {
  return isTTY ? text.split('\n').map(sanitizeLine).join('\n') : text
}
