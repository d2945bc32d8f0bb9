import { isAbort, type Clock } from '@windlass/kit'

/** Longest wait of a server that closes: a call of a forge, and some tries to store its answer. Kubernetes kills a server after 30 s. Milliseconds. */
const CLOSING_MS = 20_000

/** The renewals of tokens in progress. A server that closes waits for them, because the answer of a forge may contain the only valid refresh token. */
export class Renewals {
  readonly #clock: Clock
  readonly #running = new Set<Promise<unknown>>()
  readonly #cut = new AbortController()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Aborted when the server stops waiting, just before the store closes. */
  get cut(): AbortSignal {
    return this.#cut.signal
  }

  /** Runs a renewal. Throws what `work` throws. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const running = work()
    this.#running.add(running)
    try {
      return await running
    } finally {
      this.#running.delete(running)
    }
  }

  /** Waits for the renewals in progress, at most 20 s. Call it when no new ones start. */
  async close(): Promise<void> {
    const ended = new AbortController()
    const all = Promise.allSettled(this.#running).then(() => ended.abort())
    const tooLong = this.#clock.sleep(CLOSING_MS, ended.signal).catch((error: unknown) => {
      if (!isAbort(error)) throw error
    })
    await Promise.race([all, tooLong])
    this.#cut.abort()
  }
}
