/** Actions of the thing that is shown, for the palette. Screens add theirs while they are mounted. */
import { useEffect, useRef } from 'react'
import type { PaletteEntry } from './palette-entries.ts'

/** Returns the actions at the time when the palette opens. */
type Source = () => readonly PaletteEntry[]

const sources = new Set<Source>()

/** Adds actions to the palette while the component is mounted. */
export function usePaletteActions(entries: Source): void {
  const latest = useRef(entries)
  useEffect(() => {
    latest.current = entries
  })
  useEffect(() => {
    const source: Source = () => latest.current()
    sources.add(source)
    return () => {
      sources.delete(source)
    }
  }, [])
}

/** Returns the actions of the screens that are mounted. */
export function readPaletteActions(): PaletteEntry[] {
  return [...sources].flatMap((source) => source())
}
