/** Handling of Ctrl-C while a command follows a build. */
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '@windlass/kit'

export interface Interrupts {
  /** Aborted by the first Ctrl-C (or SIGTERM). */
  readonly first: AbortSignal
  /** Resolves to true if a second one follows within the time. */
  readonly second: (withinMs: number) => Promise<boolean>
  [Symbol.dispose](): void
}

/** Takes over SIGINT and SIGTERM until disposed. */
export function catchInterrupts(clock: Clock): Interrupts {
  const first = new AbortController()
  const second = new AbortController()
  const listener = (): void => {
    if (first.signal.aborted) second.abort()
    else first.abort(new DOMException('interrupted', 'AbortError'))
  }
  process.on('SIGINT', listener)
  process.on('SIGTERM', listener)
  return {
    first: first.signal,
    second: async (withinMs) => {
      await clock.sleep(withinMs, second.signal).catch(() => undefined)
      // After a pause of the process its timers come before the signals that it got in time.
      await turn()
      return second.signal.aborted
    },
    [Symbol.dispose]() {
      process.off('SIGINT', listener)
      process.off('SIGTERM', listener)
    },
  }
}
