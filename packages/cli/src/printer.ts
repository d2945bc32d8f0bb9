/** Writes to the terminal: results on standard output, notes for the user on standard error. Nothing else writes to it. */
import type { Writable } from 'node:stream'
import { EXIT } from './exit-codes.ts'
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
  /** Takes over a closed pipe (`| head`) until disposed, for a command that has to clean up. It then ends with exit code 0, as a closed pipe does elsewhere. */
  catchClosedPipe(): ClosedPipe
}

export interface ClosedPipe extends Disposable {
  /** Aborted when the reader of an output has closed it, which the next write shows. */
  readonly signal: AbortSignal
}

/** A stream of a process. `isTTY` and `columns` are those of `tty.WriteStream`. */
type Output = Writable & { readonly isTTY?: boolean; readonly columns?: number }

/** Opens the printer of this process, or of other streams. A closed pipe (`| head`) ends the process with exit code 0, unless a command takes it over. */
export function openPrinter(
  settings: Settings,
  streams: { readonly stdout: Output; readonly stderr: Output } = process,
): Printer {
  const closed = new AbortController()
  let holders = 0
  const onClosed = (): void => {
    if (holders === 0) process.exit(EXIT.success)
    closed.abort(new DOMException('the reader has closed the pipe', 'AbortError'))
  }
  const stdout = openTerminal(streams.stdout, settings, onClosed)
  const stderr = openTerminal(streams.stderr, settings, onClosed)
  return {
    stdout,
    stderr,
    line: (text = '') => stdout.write(`${textFor(stdout, text)}\n`),
    note: (text = '') => stderr.write(`${textFor(stderr, text)}\n`),
    catchClosedPipe() {
      holders += 1
      return { signal: closed.signal, [Symbol.dispose]: () => void (holders -= 1) }
    },
  }
}

function openTerminal(stream: Output, settings: Settings, onClosed: () => void): Terminal {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error
    onClosed()
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
