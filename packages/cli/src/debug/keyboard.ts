/** Keyboard input of a raw terminal. All keys pass through, except the two key sequences that detach. */
import type { ReadStream, WriteStream } from 'node:tty'

export interface Keyboard extends Disposable {
  /** Keys as they are pressed; ends when the user detaches or standard input ends. */
  readonly keys: AsyncIterable<Buffer>
  /** Returns true after the user detached. */
  readonly hasDetached: () => boolean
}

const CTRL_P = 0x10
const CTRL_Q = 0x11
const TILDE = 0x7e
const DOT = 0x2e
const ENTER = [0x0d, 0x0a]

/** Detects Ctrl-P Ctrl-Q, and `~.` at the start of a line, across chunks. */
export class DetachKeys {
  #held: number | undefined
  #isLineStart = true

  /** Returns the keys to pass on, and whether the user detached. */
  push(bytes: Buffer): { readonly keys: Buffer; readonly isDetached: boolean } {
    const out: number[] = []
    for (const byte of bytes) {
      if (this.#held !== undefined) {
        if (byte === (this.#held === CTRL_P ? CTRL_Q : DOT)) return { keys: Buffer.from(out), isDetached: true }
        out.push(this.#held)
        this.#held = undefined
      }
      if (byte === CTRL_P || (byte === TILDE && this.#isLineStart)) this.#held = byte
      else out.push(byte)
      this.#isLineStart = ENTER.includes(byte)
    }
    return { keys: Buffer.from(out), isDetached: false }
  }
}

/** Takes over standard input; a terminal is in raw mode until disposed. The stream stays open for later readers. */
export function openKeyboard(input: NodeJS.ReadStream | ReadStream): Keyboard {
  if (input.isTTY) input.setRawMode(true)
  const detector = new DetachKeys()
  const waiting: Buffer[] = []
  let hasDetached = false
  let isOver = false
  let changed = Promise.withResolvers<void>()

  const onChunk = (chunk: Buffer | string): void => {
    const bytes = Buffer.isBuffer(chunk) ? chunk : Buffer.from(chunk)
    const { keys, isDetached } = input.isTTY ? detector.push(bytes) : { keys: bytes, isDetached: false }
    if (keys.length > 0) waiting.push(keys)
    hasDetached ||= isDetached
    changed.resolve()
  }
  const onEnd = (): void => {
    isOver = true
    changed.resolve()
  }
  input.on('data', onChunk)
  input.once('end', onEnd)
  input.resume()

  async function* read(): AsyncGenerator<Buffer> {
    for (;;) {
      changed = Promise.withResolvers()
      const keys = Buffer.concat(waiting.splice(0))
      if (keys.length > 0) yield keys
      else if (isOver || hasDetached) return
      else await changed.promise
    }
  }

  return {
    keys: read(),
    hasDetached: () => hasDetached,
    [Symbol.dispose]() {
      input.off('data', onChunk)
      input.off('end', onEnd)
      if (input.isTTY) input.setRawMode(false)
      input.pause()
      onEnd()
    },
  }
}

/** Calls `onSize` when the terminal is resized, until `signal` is aborted. */
export function watchSize(
  output: NodeJS.WriteStream | WriteStream,
  signal: AbortSignal,
  onSize: (size: { columns: number; rows: number }) => void,
): void {
  if (!output.isTTY) return
  const notify = (): void => onSize({ columns: output.columns, rows: output.rows })
  output.on('resize', notify)
  signal.addEventListener('abort', () => void output.off('resize', notify), { once: true })
}
