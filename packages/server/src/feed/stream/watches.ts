/** Waiting for several topics of the store at once. */
import type { Clock } from '@windlass/kit'
import type { Store } from '../../store/store.ts'

export interface Watches extends Disposable {
  add(topic: string): void
  /** Wakes a topic that is not one of the store. */
  wake(topic: string): void
  /** Resolves with the topics that were woken since the last call: at once if there are any, else after `ms`, or when the signal is aborted. */
  next(ms: number, signal: AbortSignal): Promise<ReadonlySet<string>>
}

export function watchAll(store: Pick<Store, 'listen'>, clock: Pick<Clock, 'sleep'>): Watches {
  const topics = new Set<string>()
  let woken = new Set<string>()
  let over: AbortController | undefined
  const wake = (topic: string): void => {
    woken.add(topic)
    over?.abort(WAIT_ENDED)
  }
  const listener = store.listen((topic) => {
    if (topics.has(topic)) wake(topic)
  })
  return {
    add: (topic) => void topics.add(topic),
    wake,
    async next(ms, signal) {
      if (woken.size === 0) {
        over = new AbortController()
        await clock.sleep(ms, AbortSignal.any([signal, over.signal])).catch(() => undefined)
        over = undefined
      }
      const found = woken
      woken = new Set()
      return found
    },
    [Symbol.dispose]: () => listener[Symbol.dispose](),
  }
}

/** Shared by all waits, because creating an error with its stack would be the most expensive part of a wait. */
const WAIT_ENDED = new DOMException('the wait has ended', 'AbortError')
