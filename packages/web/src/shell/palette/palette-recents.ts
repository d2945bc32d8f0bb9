/** The last choices in the palette that lead to an address, kept in this browser. */
import { RECENTS_KEY as KEY } from '../../server/own-storage.ts'
import type { PaletteEntry } from './palette-entries.ts'

const MOST = 5

export interface Recent {
  readonly label: string
  readonly path: string
  readonly note?: string | undefined
}

/** Returns the last choices, most recent first. */
export function readRecents(): Recent[] {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(KEY) ?? '[]')
    return Array.isArray(stored) ? stored.filter(isRecent).slice(0, MOST) : []
  } catch {
    return []
  }
}

/** Keeps a choice. Does nothing for an entry without an address. */
export function keepRecent({ label, path, note }: PaletteEntry): void {
  if (path === undefined) return
  const others = readRecents().filter((recent) => recent.path !== path)
  try {
    localStorage.setItem(KEY, JSON.stringify([{ label, path, note }, ...others].slice(0, MOST)))
  } catch {
    // Storage is blocked: the choice is not offered again.
  }
}

function isRecent(value: unknown): value is Recent {
  return (
    typeof value === 'object' &&
    value !== null &&
    'label' in value &&
    typeof value.label === 'string' &&
    'path' in value &&
    typeof value.path === 'string' &&
    // Only addresses of this page.
    /^\/(?![/\\])/.test(value.path) &&
    (!('note' in value) || typeof value.note === 'string')
  )
}
