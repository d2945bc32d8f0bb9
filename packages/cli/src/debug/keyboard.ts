/** Keyboard input of a raw terminal. All keys pass through, except the two key sequences that detach. */
import type { ReadStream, WriteStream } from 'node:tty'
import { DetachKeys } from '@windlass/client/terminal'

export interface Keyboard extends Disposable {
  /** Keys as they are pressed; ends when the user detaches or standard input ends. */
  readonly keys: AsyncIterable<Buffer>
  /** Returns true after the user detached. */
  readonly hasDetached: () => boolean
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
    if (keys.length > 0) waiting.push(Buffer.from(keys))
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
