/** Actions of the thing that is shown, for the palette. Screens add theirs while they are mounted. */
import { useEffect, useEffectEvent } from 'react'
import { createStore } from '../server/store.ts'
import type { PaletteEntry } from './palette-entries.ts'

/** Returns the actions at the time when the palette opens. */
type Source = () => readonly PaletteEntry[]

const sources = createStore<readonly Source[]>([])

/** Adds actions to the palette while the component is mounted. */
export function usePaletteActions(entries: () => readonly PaletteEntry[]): void {
  const read = useEffectEvent(entries)
  useEffect(() => {
    const source: Source = () => read()
    sources.set([...sources.get(), source])
    return () => sources.set(sources.get().filter((other) => other !== source))
  }, [])
}

/** Returns the actions of the screens that are mounted. */
export function readPaletteActions(): PaletteEntry[] {
  return sources.get().flatMap((source) => source())
}
