/** A printer for tests that keeps the lines of a command. */
import { styleFor } from '../src/format/style.ts'
import type { ClosedPipe, Printer, Terminal } from '../src/printer.ts'

export interface RecordedOutput extends Printer {
  /** Lines of the result. */
  readonly lines: string[]
  /** Lines for the user that are not part of the result. */
  readonly notes: string[]
  /** What was written without lines. */
  readonly written: string[]
}

/** Opens a printer that has 80 columns, by default not of a terminal. */
export function recordOutput({ hasColor = false, isTTY = false } = {}): RecordedOutput {
  const written: string[] = []
  const terminal: Terminal = {
    isTTY,
    columns: 80,
    style: styleFor(hasColor),
    write: (bytes) => void written.push(String(bytes)),
    drained: async () => undefined,
  }
  const lines: string[] = []
  const notes: string[] = []
  return {
    stdout: terminal,
    stderr: terminal,
    lines,
    notes,
    written,
    line: (text = '') => void lines.push(text),
    note: (text = '') => void notes.push(text),
    catchClosedPipe: neverClosed,
  }
}

/** Returns a pipe that nobody closes. */
function neverClosed(): ClosedPipe {
  return { signal: new AbortController().signal, [Symbol.dispose]: () => undefined }
}
