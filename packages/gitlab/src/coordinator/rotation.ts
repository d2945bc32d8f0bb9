/** Renews the token of a runner before it expires. */
import { backoffMs, type Clock, type Logger } from '@windlass/kit'

/** The life of a token. Epoch milliseconds. */
export interface TokenDates {
  readonly obtainedAt: number
  /** Undefined: the token does not expire. */
  readonly expiresAt: number | undefined
}

/** Part of the life of a token after which it is renewed. */
const RENEW_AT = 0.75

/** Returns the time at which a token is renewed, epoch milliseconds: after three quarters of its life. Undefined if it does not expire. */
export function rotationTime({ obtainedAt, expiresAt }: TokenDates): number | undefined {
  return expiresAt === undefined ? undefined : obtainedAt + Math.max(0, expiresAt - obtainedAt) * RENEW_AT
}

export interface RotationOptions {
  /** Dates of the current token. Undefined if they are not known. Called again after each rotation and after changes of the configuration. */
  readonly dates: () => TokenDates | undefined
  /** Renews the token and stores it. May reject; then it is called again later. */
  readonly rotate: () => Promise<void>
  /** True only warns, for `FF_DISABLE_AUTOMATIC_TOKEN_ROTATION`. */
  readonly isDisabled?: boolean
  readonly clock: Clock
  readonly log: Logger
}

/** Longest time between two looks at the dates, which can change at any time. Milliseconds. */
const LOOK_MS = 60_000
const BACKOFF = { baseMs: 10_000, maxMs: 15 * 60_000 }

/** Renews the token whenever it is due, until the signal is aborted. Never rejects. */
export async function runRotation(
  { dates, rotate, isDisabled = false, clock, log }: RotationOptions,
  signal: AbortSignal,
): Promise<void> {
  let failures = 0
  /** The expiry that was warned about. */
  let warned: number | undefined
  while (!signal.aborted) {
    const current = dates()
    const at = current === undefined ? undefined : rotationTime(current)
    let waitMs = Math.min(LOOK_MS, Math.max(1_000, at === undefined ? LOOK_MS : at - clock.now()))
    if (at !== undefined && clock.now() >= at)
      if (isDisabled) {
        if (warned !== at)
          log.warn(
            { expiresAt: current?.expiresAt },
            'the token of the runner expires soon; renew it with `windlass gitlab reset-token`',
          )
        warned = at
      } else {
        failures = (await succeeds(rotate, log)) ? 0 : failures + 1
        if (failures > 0) waitMs = backoffMs(BACKOFF, failures)
      }
    await clock.sleep(waitMs, signal).catch(() => undefined)
  }
}

async function succeeds(rotate: () => Promise<void>, log: Logger): Promise<boolean> {
  try {
    await rotate()
    return true
  } catch (error) {
    log.warn({ err: error }, 'the token of the runner cannot be renewed; trying again later')
    return false
  }
}
