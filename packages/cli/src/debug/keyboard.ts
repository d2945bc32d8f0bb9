/** The keyboard of a person at a raw terminal: every key goes through, but for the two ways to leave. */
import type { ReadStream, WriteStream } from 'node:tty'

export interface Keyboard extends Disposable {
  /** Keys as they are pressed; ends when the person leaves, or standard input is over. */
  readonly keys: AsyncIterable<Buffer>
  /** True once the person has asked to leave. */
  readonly hasLeft: () => boolean
}

const CTRL_P = 0x10
const CTRL_Q = 0x11
const TILDE = 0x7e
const DOT = 0x2e
const ENTER = [0x0d, 0x0a]

/** Finds Ctrl-P Ctrl-Q, and `~.` at the beginning of a line, in whatever pieces keys come. */
export class LeaveKeys {
  #held: number | undefined
  #isLineStart = true

  /** The keys to pass on, and whether the person leaves. */
  push(bytes: Buffer): { readonly keys: Buffer; readonly isLeft: boolean } {
    const out: number[] = []
    for (const byte of bytes) {
      if (this.#held !== undefined) {
        if (byte === (this.#held === CTRL_P ? CTRL_Q : DOT)) return { keys: Buffer.from(out), isLeft: true }
        out.push(this.#held)
        this.#held = undefined
      }
      if (byte === CTRL_P || (byte === TILDE && this.#isLineStart)) this.#held = byte
      else out.push(byte)
      this.#isLineStart = ENTER.includes(byte)
    }
    return { keys: Buffer.from(out), isLeft: false }
  }
}

/** Takes over standard input; a terminal is raw until disposed. The stream itself stays open for whoever asks next. */
export function openKeyboard(input: NodeJS.ReadStream | ReadStream): Keyboard {
  if (input.isTTY) input.setRawMode(true)
  const leave = new LeaveKeys()
  const waiting: Buffer[] = []
  let hasLeft = false
  let isOver = false
  let news = Promise.withResolvers<void>()

  const onChunk = (chunk: Buffer | string): void => {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk)
    const { keys, isLeft } = input.isTTY ? leave.push(bytes) : { keys: bytes, isLeft: false }
    if (keys.length > 0) waiting.push(keys)
    hasLeft ||= isLeft
    news.resolve()
  }
  const onEnd = (): void => {
    isOver = true
    news.resolve()
  }
  input.on('data', onChunk)
  input.once('end', onEnd)
  input.resume()

  async function* read(): AsyncGenerator<Buffer> {
    for (;;) {
      news = Promise.withResolvers()
      const keys = Buffer.concat(waiting.splice(0))
      if (keys.length > 0) yield keys
      else if (isOver || hasLeft) return
      else await news.promise
    }
  }

  return {
    keys: read(),
    hasLeft: () => hasLeft,
    [Symbol.dispose]() {
      input.off('data', onChunk)
      input.off('end', onEnd)
      if (input.isTTY) input.setRawMode(false)
      input.pause()
      onEnd()
    },
  }
}

/** Sizes of a terminal as it is resized, until `signal` is aborted. */
export function watchSize(
  output: NodeJS.WriteStream | WriteStream,
  signal: AbortSignal,
  onSize: (size: { columns: number; rows: number }) => void,
): void {
  if (!output.isTTY) return
  const tell = (): void => onSize({ columns: output.columns, rows: output.rows })
  output.on('resize', tell)
  signal.addEventListener('abort', () => void output.off('resize', tell), { once: true })
}
