/** Records what the daemon of a build used: the daemon itself keeps only 256 events. */
import { lineOf, USE_ACTIONS, UseHistory, usesOf } from '@windlass/volumes/clean'
import type { AttemptContext } from '../attempt/context.ts'

const RETRY_MS = 1_000

export interface UseLog {
  readonly history: UseHistory
  /** Returns the contents of this build's event file. */
  text(): string
}

/** Follows the daemon's events until the signal is aborted. */
export function followUses({ docker, clock, log }: AttemptContext, signal: AbortSignal): UseLog {
  const history = new UseHistory()
  let since = clock.now() / 1000

  async function follow(): Promise<void> {
    while (!signal.aborted) {
      try {
        for await (const line of docker.followEvents({ since, actions: USE_ACTIONS, signal })) history.add(usesOf(line))
      } catch (error) {
        if (signal.aborted) return
        log.debug({ err: error }, 'event stream of the daemon ended')
      }
      since = Math.max(since, ...history.all().map(({ at }) => at))
      await clock.sleep(RETRY_MS, signal)
    }
  }
  follow().catch(() => undefined)
  return {
    history,
    text: () =>
      history
        .all()
        .map((use) => `${lineOf(use)}\n`)
        .join(''),
  }
}
