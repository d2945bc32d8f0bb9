/** Writes to the terminal: results on standard output, notes for the user on standard error. Nothing else writes to it. */
import type { Writable } from 'node:stream'
import { textFor } from './follow/line-splitter.ts'
import { styleFor, type Style } from './format/style.ts'
import type { Settings } from './config.ts'

export interface Terminal {
  readonly isTTY: boolean
  /** Width in characters; 80 if unknown. */
  readonly columns: number
  readonly style: Style
  /** True if output is colored. */
  readonly hasColor?: boolean
  /** True if every line must be written separately. */
  readonly takesLines?: boolean
  write(bytes: string | Uint8Array): void
  /** Resolves when the written bytes are flushed. Await it during long output and before the process exits. */
  drained(): Promise<void>
}

export interface Printer {
  readonly stdout: Terminal
  readonly stderr: Terminal
  /** Writes a line of the result. Texts of a pipeline or step cannot move the cursor of a terminal. */
  line(text?: string): void
  /** Writes a line for the user that is not part of the result. */
  note(text?: string): void
}

/** A stream of a process. `isTTY` and `columns` are those of `tty.WriteStream`. */
type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }

/** Opens the printer of this process, or of other streams. A closed pipe (`| head`) ends the process with exit code 0. */
export function openPrinter(
  settings: Settings,
  streams: { readonly stdout: Output; readonly stderr: Output } = process,
): Printer {
  const stdout = openTerminal(streams.stdout, settings)
  const stderr = openTerminal(streams.stderr, settings)
  return {
    stdout,
    stderr,
    line: (text = '') => stdout.write(`${textFor(stdout, text)}\n`),
    note: (text = '') => stderr.write(`${textFor(stderr, text)}\n`),
  }
}

function openTerminal(stream: Output, settings: Settings): Terminal {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  const isTTY = stream.isTTY === true
  const hasColor = settings.forceColor || (isTTY && !settings.noColor)
  return {
    isTTY,
    get columns() {
      return stream.columns || 80
    },
    style: styleFor(hasColor),
    hasColor,
    write: (bytes) => void stream.write(bytes),
    async drained() {
      if (stream.writableLength === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      stream.write('', () => resolve())
      await promise
    },
  }
}
