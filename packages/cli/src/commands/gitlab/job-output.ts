/** Shows the log of a job. On a terminal, a line cannot move the cursor, and without colors it has none. */
import { lineSplitter, textFor } from '../../follow/line-splitter.ts'
import type { Terminal } from '../../printer.ts'

export interface JobOutput {
  /** Resolves when the terminal takes more. */
  readonly write: (bytes: Buffer) => Promise<void>
  /** Shows what is left of the last line. */
  readonly end: () => void
}

// oxlint-disable-next-line no-control-regex
const COLORS = /\u001B\[[\d;]*m/g

export function jobOutput(terminal: Terminal): JobOutput {
  const splitter = lineSplitter()
  const show = (bytes: Buffer | undefined): void => {
    if (bytes === undefined) return
    // One character for each byte, so that output that is not text stays as it is.
    const plain = terminal.hasColor === true ? bytes : Buffer.from(bytes.toString('latin1').replaceAll(COLORS, ''), 'latin1')
    terminal.write(terminal.isTTY ? textFor(terminal, plain.toString('utf8')) : plain)
  }
  return {
    async write(bytes) {
      show(splitter.pushWhole(bytes))
      await terminal.drained()
    },
    end: () => show(splitter.flush()),
  }
}
