/** The wait of a held call: it reads again at each wake-up of a topic. */
import type { App } from './app.ts'

export interface HeldRead<T> {
  readonly topic: string
  readonly waitMs: number
  /** Aborted when the caller disconnects or the server closes. */
  readonly signal: AbortSignal
  /** Called at once, at each wake-up, and at least every `pollMs` of the store. */
  readonly read: () => Promise<T>
  readonly isDone: (value: T) => boolean
}

/** Returns the first value that is done, or the latest one when `waitMs` have passed or the signal is aborted. Throws what `read` throws. */
export async function readUntil<T>(app: App, { topic, waitMs, signal, read, isDone }: HeldRead<T>): Promise<T> {
  const until = app.clock.monotonic() + waitMs
  using watch = app.store.watch(topic)
  for (;;) {
    const value = await read()
    const rest = until - app.clock.monotonic()
    if (isDone(value) || rest <= 0 || signal.aborted) return value
    await watch.next(Math.min(rest, app.store.pollMs), signal)
  }
}
