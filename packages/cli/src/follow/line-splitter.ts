/** Cuts the bytes of one stream into lines. Output need not be UTF-8, and a chunk may end anywhere, also inside a character. */
const NEWLINE = 10
const RETURN = 13
/** A line longer than this is shown in parts, so that output without line ends takes no memory. */
const LONGEST_LINE_BYTES = 65_536

export interface LineSplitter {
  /** The lines that these bytes complete, without their line ends. */
  push(bytes: Uint8Array): Buffer[]
  /** The same as one piece with its line ends as they came, for output that is passed on as it is; undefined when no line is complete. */
  pushWhole(bytes: Uint8Array): Buffer | undefined
  /** What stands after the last line end, once; undefined when nothing does. */
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

/**
 * A line of output made safe for a terminal: colours stay, everything else that moves the cursor, sets titles or the clipboard goes.
 * Of a line that redraws itself by carriage returns, the last state is kept.
 */
export function tameLine(line: string): string {
  const last = line.slice(line.replace(/\r+$/, '').lastIndexOf('\r') + 1)
  return last.replace(UNSAFE, '')
}

// CSI sequences that are not colours, OSC/DCS/APC strings, other escapes, and control characters but tab and escape itself.
const UNSAFE =
  // oxlint-disable-next-line no-control-regex
  /\u001B\[[0-?]*[ -/]*(?!m)[@-~]|\u001B[\]PX^_][^\u0007\u001B]*(?:\u0007|\u001B\\|$)|\u001B(?!\[)[ -/]*[0-~]?|[\u0000-\u0008\u000B-\u001A\u001C-\u001F\u007F\u0080-\u009F]/g
