/**
 * Wake-ups between those who write and those who wait. A hint, never the truth: who is woken looks in the store, and looks there from
 * time to time even when nobody wakes it.
 */
import { EventEmitter } from 'node:events'
import type { Clock } from '@windlass/kit'

export interface Bus {
  /** Wakes everybody who watches one of the topics. */
  wake(topics: Iterable<string>): void
  /** Starts to collect wake-ups of a topic; look in the store after this, so that none is missed. */
  watch(topic: string): Watch
  close(): Promise<void>
}

export interface Watch extends Disposable {
  /** Resolves at the next wake-up (at once when one came since the last call), after `ms`, or when the signal is aborted. */
  next(ms: number, signal?: AbortSignal): Promise<void>
}

export interface LocalBus extends Bus {
  /** Also resolves every watch, now and from now on: the server is closing. */
  end(): void
}

/** Wake-ups inside this process. */
export function openLocalBus(clock: Clock): LocalBus {
  const emitter = new EventEmitter().setMaxListeners(0)
  let ended = false
  return {
    wake(topics) {
      for (const topic of topics) emitter.emit(topic)
    },
    watch: (topic) => watch(emitter, topic, { clock, isEnded: () => ended }),
    end() {
      ended = true
      for (const topic of emitter.eventNames()) emitter.emit(topic)
    },
    close: async () => undefined,
  }
}

/** One for all: an error with its stack for every wait would be the dearest part of it. */
const OVER = new DOMException('the wait is over', 'AbortError')

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
        over.abort(OVER)
        resolve = undefined
      }
      fired = false
    },
    [Symbol.dispose]: () => void emitter.off(topic, onWake),
  }
}
