/**
 * Idempotency keys of calls whose answer was lost. The server may have carried such a call out, so the same call uses the same key when the user tries
 * again, and the server answers it as the first time.
 */

export interface SentCall {
  readonly method: string
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Uint8Array | undefined
}

export interface Repeat {
  /** Headers to send. */
  readonly headers: Readonly<Record<string, string>>
  /** Call when the answer of the server was read. Answers to other changes make an earlier key useless: they may have undone what its call did. */
  answered(): void
  /** Call when no answer came. */
  lost(): void
}

export interface RepeatKeys {
  begin(call: SentCall): Repeat
}

const HEADER = 'idempotency-key'
/** Nobody means the earlier call after this time. Milliseconds. */
const KEPT_MS = 5 * 60_000

interface Kept {
  readonly key: string
  /** Time of the first call. */
  readonly at: number
}

/** Calls by POST that change nothing. */
const READS = /\/v1\/(?:plan|validate)$/

/** Opens an empty collection. `now` returns the time in milliseconds. */
export function openRepeatKeys(now: () => number): RepeatKeys {
  const kept = new Map<string, Kept>()
  return {
    begin({ method, url, headers, body }) {
      const isRead = method === 'GET' || READS.test(url.replace(/[?#].*$/, ''))
      if (isRead) return { headers, answered: ignore, lost: ignore }
      const key = headers[HEADER]
      const call = JSON.stringify([method, url, body])
      const earlier = kept.get(call)
      // Two calls at once are two calls.
      kept.delete(call)
      const sent = earlier === undefined || now() - earlier.at > KEPT_MS ? { key, at: now() } : earlier
      return {
        headers: key === undefined ? headers : { ...headers, [HEADER]: sent.key ?? key },
        answered: () => kept.clear(),
        lost() {
          if (sent.key !== undefined) kept.set(call, { key: sent.key, at: sent.at })
        },
      }
    },
  }
}

function ignore(): void {
  // Calls that change nothing have no key.
}
