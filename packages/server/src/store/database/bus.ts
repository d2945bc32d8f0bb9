/**
 * Wake-ups between writers and waiters. A wake-up is only a hint: the woken side reads the store, and also reads it periodically without
 * a wake-up.
 */
import { EventEmitter } from 'node:events'
import type { Clock } from '@windlass/kit'

export interface Bus {
  /** Wakes all watchers of these topics. */
  wake(topics: Iterable<string>): void
  /** Starts to collect wake-ups of a topic. Read the store after this call, so that no change is missed. */
  watch(topic: string): Watch
  /** Calls `onTopic` for each topic that is woken, also by other servers, until the result is disposed. */
  listen(onTopic: (topic: string) => void): Disposable
  close(): Promise<void>
}

export interface Watch extends Disposable {
  /** Resolves at the next wake-up (immediately if one came since the last call), after `ms`, or when the signal is aborted. */
  next(ms: number, signal?: AbortSignal): Promise<void>
}

export interface LocalBus extends Bus {
  /** Resolves all current and future watches, because the server is closing. */
  end(): void
}

/** Opens a bus for wake-ups inside this process. */
export function openLocalBus(clock: Clock): LocalBus {
  const emitter = new EventEmitter().setMaxListeners(0)
  const listeners = new Set<(topic: string) => void>()
  let ended = false
  return {
    wake(topics) {
      for (const topic of topics) {
        emitter.emit(topic)
        for (const onTopic of listeners) onTopic(topic)
      }
    },
    listen(given) {
      // Its own function, so that the same one can listen twice.
      const onTopic = (topic: string): void => given(topic)
      listeners.add(onTopic)
      return { [Symbol.dispose]: () => void listeners.delete(onTopic) }
    },
    watch: (topic) => watch(emitter, topic, { clock, isEnded: () => ended }),
    end() {
      ended = true
      for (const topic of emitter.eventNames()) emitter.emit(topic)
    },
    close: async () => undefined,
  }
}

/** Shared by all waits, because creating an error with its stack would be the most expensive part of a wait. */
const WAIT_ENDED = new DOMException('the wait has ended', 'AbortError')

function watch(emitter: EventEmitter, topic: string, state: { clock: Clock; isEnded: () => boolean }): Watch {
  let fired = false
  let resolve: (() => void) | undefined
  const onWake = (): void => {
    fired = true
    resolve?.()
  }
  emitter.on(topic, onWake)
  return {
    async next(ms, signal) {
      if (!fired && !state.isEnded() && signal?.aborted !== true && ms > 0) {
        const woken = Promise.withResolvers<void>()
        const over = new AbortController()
        resolve = woken.resolve
        signal?.addEventListener('abort', () => woken.resolve(), { once: true, signal: over.signal })
        await Promise.race([woken.promise, state.clock.sleep(ms, over.signal).catch(() => undefined)])
        over.abort(WAIT_ENDED)
        resolve = undefined
      }
      fired = false
    },
    [Symbol.dispose]: () => void emitter.off(topic, onWake),
  }
}
