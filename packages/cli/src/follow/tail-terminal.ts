import type { Terminal } from '../printer.ts'

export interface TailTerminal {
  readonly terminal: Terminal
  /** Writes the buffered lines, and passes on all later writes. */
  release(): void
}

/** Returns a terminal that buffers the last lines until it is released. */
export function tailTerminal(target: Terminal, lines: number): TailTerminal {
  const kept: (string | Uint8Array)[] = []
  let isOpen = false
  return {
    terminal: {
      isTTY: target.isTTY,
      columns: target.columns,
      style: target.style,
      get takesLines() {
        return !isOpen
      },
      drained: () => target.drained(),
      write(bytes) {
        if (isOpen) return target.write(bytes)
        if (!endsLine(bytes)) return
        kept.push(bytes)
        if (kept.length > lines) kept.shift()
      },
    },
    release() {
      isOpen = true
      for (const line of kept.splice(0)) target.write(line)
    },
  }
}

/** Returns true for a line. Lines are written whole, and a text without line end is a status line. */
function endsLine(bytes: string | Uint8Array): boolean {
  return typeof bytes === 'string' ? bytes.endsWith('\n') : bytes.at(-1) === 10
}
