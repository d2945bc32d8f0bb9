/** Media queries as values of components. */
import { useSyncExternalStore } from 'react'

/** Returns whether a media query matches, and renders again when that changes. */
export function useMedia(query: string): boolean {
  return useSyncExternalStore(
    (read) => {
      const list = matchMedia(query)
      list.addEventListener('change', read)
      return () => list.removeEventListener('change', read)
    },
    () => matchMedia(query).matches,
  )
}
