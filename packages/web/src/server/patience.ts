/** A limit for the time in which nothing arrives on a connection. A connection can be open at one end only, and then its reader learns nothing. */
export interface Patience {
  /** Aborted when the limit is reached. */
  readonly signal: AbortSignal
  /** Waits for work, at most as long as the limit. */
  during<T>(work: Promise<T>): Promise<T>
}

export function openPatience(ms: number): Patience {
  const over = new AbortController()
  return {
    signal: over.signal,
    async during(work) {
      const timer = setTimeout(() => over.abort(new Error(`nothing arrived for ${ms / 1000} s`)), ms)
      try {
        return await work
      } finally {
        clearTimeout(timer)
      }
    },
  }
}
