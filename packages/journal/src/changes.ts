/** Counts changes, and wakes the callers that wait for the next one. */
export class Changes {
  version = 0
  readonly #wake: (() => void)[] = []

  notify(): void {
    this.version += 1
    for (const wake of this.#wake.splice(0)) wake()
  }

  /** Resolves once `version` differs from `seen`, or when `signal` is aborted. */
  async after(seen: number, signal: AbortSignal): Promise<void> {
    if (this.version !== seen || signal.aborted) return
    const { promise, resolve } = Promise.withResolvers<void>()
    const wake = (): void => resolve()
    this.#wake.push(wake)
    signal.addEventListener('abort', wake, { once: true })
    await promise
    signal.removeEventListener('abort', wake)
  }
}
