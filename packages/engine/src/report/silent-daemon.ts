/** Tells the user that a build waits for its Docker daemon. The pods of the attempt run then, so nothing else shows why no step starts. */
import type { Journal } from '@windlass/journal'
import type { Clock, Logger } from '@windlass/kit'
import type { EngineEvent } from '@windlass/protocol'

/** Time after which a daemon without an answer is reported. Most daemons answer within a few seconds. Milliseconds. */
const SILENT_MS = 10_000

export interface SilentDaemonOptions {
  readonly journal: Pick<Journal<EngineEvent>, 'append'>
  readonly clock: Clock
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Settles like `connected`. Writes one notice if that takes longer than 10 s. */
export async function reportSilentDaemon<T>(connected: Promise<T>, options: SilentDaemonOptions): Promise<T> {
  const { journal, clock, log, signal } = options
  const over = new AbortController()
  const message = `The Docker daemon of the build has not answered for ${SILENT_MS / 1000} s. If its disk was full, it removes unused images, caches and volumes first.`
  clock.sleep(SILENT_MS, AbortSignal.any([signal, over.signal])).then(
    () => {
      try {
        journal.append({ type: 'notice', level: 'info', message })
      } catch (error) {
        // The next event of the attempt fails, too, and ends it.
        log.warn({ err: error }, 'the notice about the Docker daemon cannot be written')
      }
    },
    () => undefined,
  )
  try {
    return await connected
  } finally {
    over.abort()
  }
}
