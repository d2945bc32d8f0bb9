/** Theme and density, kept in this browser. `boot.js` reads them before the first paint. */
import { createStore, useStore } from '../server/store.ts'

/** Where the browser keeps the looks. */
export const LOOKS_KEY = 'windlass.looks'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]
export const DENSITIES = ['comfortable', 'compact'] as const
export type Density = (typeof DENSITIES)[number]

export interface Looks {
  readonly theme: Theme
  readonly density: Density
}

const looks = createStore(readLooks())

/** Returns the theme and density that the document has now. */
function readLooks(): Looks {
  const { theme, density } = document.documentElement.dataset
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    density: density === 'compact' ? 'compact' : 'comfortable',
  }
}

/** Returns the theme and density, and renders again when they change. */
export function useLooks(): Looks {
  return useStore(looks)
}

/** Changes the document, and keeps the choice unless storage is blocked. */
export function setLooks(next: Looks): void {
  show(next)
  try {
    localStorage.setItem(LOOKS_KEY, JSON.stringify(next))
  } catch {
    // The choice holds until the page is closed.
  }
}

/** Shows the theme and density of a text of the storage, which another document has changed. */
export function showStoredLooks(stored: string | null): void {
  try {
    const { theme, density } = JSON.parse(stored ?? '{}') as Partial<Looks>
    show({ theme: theme ?? 'system', density: density ?? 'comfortable' })
  } catch {
    // Something else is stored there; the looks stay.
  }
}

function show(next: Looks): void {
  const { dataset } = document.documentElement
  if (next.theme === 'system') delete dataset['theme']
  else dataset['theme'] = next.theme
  if (next.density === 'compact') dataset['density'] = next.density
  else delete dataset['density']
  looks.set(next)
}
