/** Detects a daemon that stops responding while no call is in flight. */
import { fault, isFault } from '@windlass/kit'
import type { AttemptContext } from '../attempt/context.ts'

const EVERY_MS = 5_000
const ANSWER_MS = 10_000
const MISSES = 3

export interface DaemonWatch {
  /** Stops the watch. */
  readonly signal: AbortSignal
  readonly onLost: (error: unknown) => void
}

/** Pings the daemon periodically. After three misses in a row the daemon is lost. */
export function watchDaemon({ docker, clock, log }: AttemptContext, watch: DaemonWatch): void {
  async function look(): Promise<void> {
    for (let misses = 0; ;) {
      await clock.sleep(EVERY_MS, watch.signal)
      try {
        await docker.ping(ANSWER_MS)
        misses = 0
      } catch (error) {
        misses += 1
        log.warn({ err: error, misses }, 'docker daemon does not answer')
        if (misses >= MISSES) return watch.onLost(isFault(error) ? error : fault('docker-unreachable', {}, error))
      }
    }
  }
  look().catch(() => undefined)
}
