/** Renews the tokens of the runners of a manager before they expire, and writes them into its configuration. */
import type { Clock, Logger } from '@windlass/kit'
import { storeToken } from '../config/store-token.ts'
import { runRotation } from '../coordinator/rotation.ts'
import { featureFlags } from '../job/feature-flags.ts'
import type { Entry } from './entry.ts'

export interface Rotations {
  /** Begins to renew the token of an entry, and ends that of an earlier entry with its key. */
  start(entry: Entry): void
  /** Ends the renewals of all entries but those with these keys. */
  keep(keys: ReadonlySet<string>): void
}

export interface RotationsOptions {
  readonly configFile: string
  readonly clock: Clock
  readonly log: Logger
  /** Ends all renewals. */
  readonly signal: AbortSignal
}

export function openRotations({ configFile, clock, log, signal }: RotationsOptions): Rotations {
  /** By the keys of entries. */
  const running = new Map<string, AbortController>()

  return {
    start({ key, runner, coordinator }) {
      running.get(key)?.abort()
      const stop = new AbortController()
      running.set(key, stop)
      const { token_obtained_at: from, token_expires_at: until } = runner
      const dates =
        from === undefined || until === undefined ? undefined : { obtainedAt: Date.parse(from), expiresAt: Date.parse(until) }
      const isDisabled = featureFlags(runner).FF_DISABLE_AUTOMATIC_TOKEN_ROTATION
      async function rotate(): Promise<void> {
        await storeToken(configFile, runner, await coordinator.resetToken(), clock.now())
        log.info({ runner: runner.name }, 'renewed the token of the runner')
      }
      void runRotation({ dates: () => dates, rotate, isDisabled, clock, log }, AbortSignal.any([stop.signal, signal]))
    },
    keep(keys) {
      for (const [key, stop] of running)
        if (!keys.has(key)) {
          stop.abort()
          running.delete(key)
        }
    },
  }
}
