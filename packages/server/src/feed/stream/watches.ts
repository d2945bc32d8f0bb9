/** Waiting for several topics of the store at once. */
import type { Watch } from '../../store/database/bus.ts'
import type { Store } from '../../store/store.ts'

export interface Watches extends Disposable {
  add(topic: string): void
  /** Ends the current wait, or the next one. */
  wake(): void
  /** Resolves at the next wake-up of any of the topics, at once if one came since the last call, after `ms`, or when the signal is aborted. */
  next(ms: number, signal: AbortSignal): Promise<void>
}

export function watchAll(store: Pick<Store, 'watch'>): Watches {
  const watches = new Map<string, Watch>()
  let isWoken = false
  let over: AbortController | undefined
  return {
    add(topic) {
      if (!watches.has(topic)) watches.set(topic, store.watch(topic))
    },
    wake() {
      isWoken = true
      over?.abort(WAIT_ENDED)
    },
    async next(ms, signal) {
      if (!isWoken) await waitForAny(ms, signal)
      isWoken = false
    },
    [Symbol.dispose]() {
      for (const watch of watches.values()) watch[Symbol.dispose]()
    },
  }

  async function waitForAny(ms: number, signal: AbortSignal): Promise<void> {
    const ended = (over = new AbortController())
    const either = AbortSignal.any([signal, ended.signal])
    // Each watch forgets its wake-up when its wait ends, so all of them end before the caller reads.
    const idle = store.watch('')
    const waits = [idle, ...watches.values()].map(async (watch) => {
      await watch.next(ms, either)
      ended.abort(WAIT_ENDED)
    })
    await Promise.all(waits)
    idle[Symbol.dispose]()
    over = undefined
  }
}

/** Shared by all waits, because creating an error with its stack would be the most expensive part of a wait. */
const WAIT_ENDED = new DOMException('the wait has ended', 'AbortError')
