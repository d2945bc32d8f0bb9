/** The one place that writes to the terminal: results on standard output, words for people on standard error. */
import { styleFor, type Style } from './format/style.ts'
import type { Settings } from './config.ts'

export interface Terminal {
  readonly isTTY: boolean
  /** Width in characters; 80 where it is not known. */
  readonly columns: number
  readonly style: Style
  /** True when colours are wanted. */
  readonly hasColour?: boolean
  /** True where every line must be written by itself. */
  readonly takesLines?: boolean
  write(bytes: string | Uint8Array): void
  /** Resolves when what was written is taken: wait for it where much is written, and before the process ends. */
  drained(): Promise<void>
}

export interface Printer {
  readonly stdout: Terminal
  readonly stderr: Terminal
  /** A line of the result. */
  line(text?: string): void
  /** A line for a person, never part of the result. */
  note(text?: string): void
}

/** The printer of this process. A reader that went away (`| head`) ends the process quietly. */
export function openPrinter(settings: Settings): Printer {
  const stdout = openTerminal(process.stdout, settings)
  const stderr = openTerminal(process.stderr, settings)
  return {
    stdout,
    stderr,
    line: (text = '') => stdout.write(`${text}\n`),
    note: (text = '') => stderr.write(`${text}\n`),
  }
}

function openTerminal(stream: NodeJS.WriteStream, settings: Settings): Terminal {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
  const isTTY = stream.isTTY === true
  const hasColour = settings.forceColour || (isTTY && !settings.noColour)
  return {
    isTTY,
    get columns() {
      return stream.columns || 80
    },
    style: styleFor(hasColour),
    hasColour,
    write: (bytes) => void stream.write(bytes),
    async drained() {
      if (stream.writableLength === 0) return
      const { promise, resolve } = Promise.withResolvers<void>()
      stream.write('', () => resolve())
      await promise
    },
  }
}
