import { setImmediate as breathe } from 'node:timers/promises'
import type { App } from '../../app.ts'

/** Maximum time without a pause for other calls. Milliseconds. */
const BUSY_MS = 20

/** Lets other calls run if needed. Resolves with true once the work must stop. */
export interface Pause {
  (): Promise<boolean>
  /** True if other calls have waited for long enough, so that work that does not await anything should pause. */
  readonly isDue: () => boolean
}

/** Returns the pause of work that may take `limitMs`, and ends with its signal. */
export function openPause({ clock }: Pick<App, 'clock'>, { limitMs, signal }: { limitMs: number; signal: AbortSignal }): Pause {
  const startedAt = clock.monotonic()
  let pausedAt = startedAt
  const isDue = (): boolean => clock.monotonic() - pausedAt > BUSY_MS
  const pause = async (): Promise<boolean> => {
    if (isDue()) {
      await breathe()
      pausedAt = clock.monotonic()
    }
    return signal.aborted || clock.monotonic() - startedAt > limitMs
  }
  return Object.assign(pause, { isDue })
}
