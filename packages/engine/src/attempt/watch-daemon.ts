/** Notices a daemon that has gone silent while no call would show it. */
import { fault, isFault } from '@windlass/kit'
import type { AttemptContext } from './context.ts'

const EVERY_MS = 5_000
const ANSWER_MS = 10_000
const MISSES = 3

export interface DaemonWatch {
  /** Ends the watch. */
  readonly signal: AbortSignal
  readonly onLost: (error: unknown) => void
}

/** Asks the daemon now and then; three silences in a row make it lost. */
export function watchDaemon({ docker, clock, log }: AttemptContext, watch: DaemonWatch): void {
  async function look(): Promise<void> {
    for (let misses = 0; ;) {
      await clock.sleep(EVERY_MS, watch.signal)
      try {
        await docker.ping(ANSWER_MS)
        misses = 0
      } catch (error) {
        misses += 1
        log.warn({ err: error, misses }, 'docker daemon is silent')
        if (misses >= MISSES) return watch.onLost(isFault(error) ? error : fault('docker-unreachable', {}, error))
      }
    }
  }
  look().catch(() => undefined)
}
