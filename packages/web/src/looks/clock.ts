/** The time of this browser. */
import { useSyncExternalStore } from 'react'

/** Returns the time in epoch milliseconds. */
export function now(): number {
  return Date.now()
}

const TICK_MS = 1_000
let shown = now()
let timer: ReturnType<typeof setInterval> | undefined
const readers = new Set<() => void>()

function tick(): void {
  shown = now()
  for (const read of readers) read()
}

function subscribe(read: () => void): () => void {
  readers.add(read)
  timer ??= setInterval(tick, TICK_MS)
  return () => {
    readers.delete(read)
    if (readers.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

/** Returns the time and renders again each second. All readers share one timer. Epoch milliseconds. */
export function useNow(): number {
  return useTime((time) => time)
}

/** Returns what `read` makes of the time in epoch milliseconds, and renders again when that changes. Looks each second. */
export function useTime<T extends number | string>(read: (time: number) => T): T {
  return useSyncExternalStore(subscribe, () => read(shown))
}
