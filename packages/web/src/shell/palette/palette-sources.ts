/** The entries of the palette besides the actions of screens. */
import type { BuildCounts, SearchResults } from '@windlass/protocol'
import { paths } from '../../url/paths.ts'
import type { PaletteEntry } from './palette-entries.ts'
import type { Recent } from './palette-recents.ts'
import type { Room } from '../rooms.ts'
import type { ShortcutGroup } from '../shortcuts.ts'

type Go = (path: string) => void

/** Returns the last choices. Those that the server finds too appear once. */
export function recentEntries(recents: readonly Recent[], go: Go): PaletteEntry[] {
  return recents.map(({ label, path, note }) => ({ id: `to ${path}`, group: 'Recent', label, note, path, run: () => go(path) }))
}

export function roomEntries(rooms: readonly Room[], go: Go): PaletteEntry[] {
  return rooms.map(({ name, path, key }) => ({
    id: `to ${path}`,
    group: 'Pages',
    label: name,
    note: `g ${key}`,
    run: () => go(path),
  }))
}

/** Returns what the server found for the text. */
export function foundEntries(found: SearchResults | undefined, go: Go): PaletteEntry[] {
  return (found?.items ?? []).map(({ kind, id, name, build }) => {
    const path = build === undefined ? pathOfName(kind, name) : paths.build(id)
    const run = (): void => go(path)
    if (build === undefined) return { id: `to ${path}`, group: 'Names', label: name, note: kind, path, run }
    const note = [build.pipeline, build.branch, build.status].filter((part) => part !== undefined).join(' · ')
    return { id: `to ${path}`, group: 'Builds', label: `#${build.number}`, note, path, run }
  })
}

function pathOfName(kind: string, name: string): string {
  if (kind === 'pipeline') return paths.pipeline(name)
  if (kind === 'project') return paths.builds({ project: [name] })
  if (kind === 'runtime') return paths.runtime(name)
  return paths.context(name)
}

/** Returns those who started builds. */
export function personEntries(initiators: BuildCounts | undefined, go: Go): PaletteEntry[] {
  return (initiators?.items ?? []).map(({ value, count }) => {
    const path = paths.builds({ by: [value] })
    return {
      id: `to ${path}`,
      group: 'People',
      label: value,
      note: count === 1 ? '1 build' : `${count} builds`,
      path,
      run: () => go(path),
    }
  })
}

/** Returns the line of the log that is shown, for a number that was typed. `hasLog`: the page shows a log. */
export function lineEntries(text: string, hasLog: boolean): PaletteEntry[] {
  const isNumber = /^\d{1,12}$/.test(text) && Number(text) > 0
  const label = isNumber ? `Line ${text} of the log` : 'Type the number of a line'
  const off = hasLog ? (isNumber ? undefined : 'A number from 1.') : 'This page shows no log.'
  return [
    {
      id: 'line',
      group: 'Lines',
      label,
      off,
      run: () => {
        location.hash = `#L${text}`
      },
    },
  ]
}

/** Returns the keys of the page, which do the same when they are chosen. */
export function keyEntries(groups: readonly ShortcutGroup[], onHelp: () => void): PaletteEntry[] {
  return [
    { id: 'help', group: 'Keys', label: 'All keys of this page', run: onHelp },
    ...groups.flatMap(({ name, shortcuts }) =>
      shortcuts.map(({ keys, does, run }) => ({ id: `key ${name} ${keys}`, group: 'Keys', label: does, note: keys, run })),
    ),
  ]
}

/** Returns the entries without those whose id came before. */
export function withoutDoubles(entries: readonly PaletteEntry[]): PaletteEntry[] {
  return [...new Map(entries.toReversed().map((entry) => [entry.id, entry])).values()].toReversed()
}
