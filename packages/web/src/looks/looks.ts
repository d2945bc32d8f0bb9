/** Theme and density, kept in this browser. `boot.js` reads them before the first paint. */
const KEY = 'windlass.looks'

export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]
export const DENSITIES = ['comfortable', 'compact'] as const
export type Density = (typeof DENSITIES)[number]

export interface Looks {
  readonly theme: Theme
  readonly density: Density
}

/** Returns the theme and density that the document has now. */
export function readLooks(): Looks {
  const { theme, density } = document.documentElement.dataset
  return {
    theme: theme === 'light' || theme === 'dark' ? theme : 'system',
    density: density === 'compact' ? 'compact' : 'comfortable',
  }
}

/** Changes the document, and keeps the choice unless storage is blocked. */
export function setLooks(looks: Looks): void {
  const { dataset } = document.documentElement
  if (looks.theme === 'system') delete dataset['theme']
  else dataset['theme'] = looks.theme
  if (looks.density === 'compact') dataset['density'] = looks.density
  else delete dataset['density']
  try {
    localStorage.setItem(KEY, JSON.stringify(looks))
  } catch {
    // The choice holds until the page is closed.
  }
}
