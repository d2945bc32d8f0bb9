/** Caching of credentials and tokens that expire. */
import { isAbort, type Clock } from '@windlass/kit'

/** Time before the expiry from which a value is renewed. Milliseconds. */
export const EARLY_MS = 5 * 60_000

/**
 * Returns a function that provides the value of `fetch`, caching it until five minutes before it expires (`expiresAt`, epoch milliseconds; undefined
 * for a value that does not expire). Concurrent calls share one renewal. If a renewal fails, the old value is used until it expires.
 * If the caller that started a renewal gives up, the others start one of their own.
 */
export function cached<T extends { readonly expiresAt?: number | undefined }>(
  clock: Clock,
  fetch: (signal: AbortSignal) => Promise<T>,
): (signal: AbortSignal) => Promise<T> {
  let held: T | undefined
  let renewal: Promise<T> | undefined
  const lasts = (ms: number): boolean => held !== undefined && (held.expiresAt === undefined || held.expiresAt - ms > clock.now())
  return async function provide(signal): Promise<T> {
    if (held !== undefined && lasts(EARLY_MS)) return held
    const isShared = renewal !== undefined
    renewal ??= fetch(signal).finally(() => (renewal = undefined))
    try {
      held = await renewal
    } catch (error) {
      if (held !== undefined && lasts(0)) return held
      if (isShared && isAbort(error)) return provide(signal)
      throw error
    }
    return held
  }
}
