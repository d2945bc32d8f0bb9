/** A printer for tests that keeps the lines of a command. */
import { styleFor } from '../src/format/style.ts'
import type { Printer, Terminal } from '../src/printer.ts'

export interface RecordedOutput extends Printer {
  /** Lines of the result. */
  readonly lines: string[]
  /** Lines for the user that are not part of the result. */
  readonly notes: string[]
}

/** Opens a printer that is no terminal and has 80 columns. */
export function recordOutput({ hasColor = false } = {}): RecordedOutput {
  const terminal: Terminal = {
    isTTY: false,
    columns: 80,
    style: styleFor(hasColor),
    write: () => undefined,
    drained: async () => undefined,
  }
  const lines: string[] = []
  const notes: string[] = []
  return {
    stdout: terminal,
    stderr: terminal,
    lines,
    notes,
    line: (text = '') => void lines.push(text),
    note: (text = '') => void notes.push(text),
  }
}
