/** A value outside React that components can read. */
import { useSyncExternalStore } from 'react'

export interface Store<T> {
  get(): T
  set(value: T): void
  subscribe(read: () => void): () => void
}

/** Creates a store. Readers are called when the value is another one. */
export function createStore<T>(initial: T): Store<T> {
  let value = initial
  const readers = new Set<() => void>()
  return {
    get: () => value,
    set(next) {
      if (Object.is(value, next)) return
      value = next
      for (const read of readers) read()
    },
    subscribe(read) {
      readers.add(read)
      return () => readers.delete(read)
    },
  }
}

/** Returns the value of a store and renders again when it changes. */
export function useStore<T>(store: Store<T>): T {
  return useSyncExternalStore(store.subscribe, store.get)
}
