/** The palette: one field that goes to pages, builds and pipelines, and runs the actions of what is shown. */
import { Dialog as Base } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import float from '../../parts/floating/float.module.css'
import { useSettled } from '../../parts/use-settled.ts'
import { queries } from '../../server/queries.ts'
import { readPaletteActions } from './palette-actions.ts'
import { choose, readTyped, type PaletteEntry } from './palette-entries.ts'
import { keepRecent, readRecents } from './palette-recents.ts'
import {
  foundEntries,
  keyEntries,
  lineEntries,
  personEntries,
  recentEntries,
  roomEntries,
  withoutDoubles,
} from './palette-sources.ts'
import { useRooms } from '../rooms.ts'
import styles from '../shell.module.css'
import { useShortcutGroups } from '../shortcuts.ts'

/** Pause in the typing after which the server is asked. Milliseconds. */
const ASK_MS = 120

interface PaletteProps {
  /** What is typed at first, such as `> ` for actions. */
  readonly start: string
  readonly onClose: () => void
  readonly onHelp: () => void
}

export function Palette({ start, onClose, onHelp }: PaletteProps): ReactElement {
  return (
    <Base.Root open onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={float['backdrop']} />
        <Base.Popup className={styles['palette']} aria-label="Search or go to">
          <Content start={start} onClose={onClose} onHelp={onHelp} />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

function Content({ start, onClose, onHelp }: PaletteProps): ReactElement {
  const [typed, setTyped] = useState(start)
  const [chosen, setChosen] = useState<string>()
  const entries = useEntries(typed, onHelp)
  const found = entries.findIndex(({ id }) => id === chosen)
  const firstPossible = entries.findIndex(({ off }) => off === undefined)
  const index = Math.max(0, found === -1 ? firstPossible : found)
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    list.current?.children[index]?.scrollIntoView({ block: 'nearest' })
  }, [index])

  const run = (entry: PaletteEntry | undefined): void => {
    if (entry === undefined || entry.off !== undefined) return
    keepRecent(entry)
    onClose()
    entry.run()
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowDown' ? 1 : event.key === 'ArrowUp' ? -1 : 0
    if (step !== 0) setChosen(entries[(index + step + entries.length) % entries.length]?.id)
    else if (event.key === 'Enter') run(entries[index])
    else return
    event.preventDefault()
  }
  return (
    <>
      <input
        className={styles['typed']}
        autoFocus
        role="combobox"
        aria-label="Search or go to"
        aria-expanded
        aria-controls="palette-entries"
        aria-activedescendant={entries.length === 0 ? undefined : `palette-${index}`}
        placeholder="Pages and names, # build, > action, @ person, : line, ? keys"
        value={typed}
        onFocus={({ currentTarget }) => currentTarget.setSelectionRange(currentTarget.value.length, currentTarget.value.length)}
        onChange={(event) => {
          setTyped(event.target.value)
          setChosen(undefined)
        }}
        onKeyDown={onKeyDown}
      />
      <ul id="palette-entries" ref={list} role="listbox" aria-label="Found" className={styles['entries']}>
        {entries.map((entry, at) => (
          <li
            key={entry.id}
            id={`palette-${at}`}
            role="option"
            aria-selected={at === index}
            aria-disabled={entry.off !== undefined}
            onPointerMove={() => setChosen(entry.id)}
            onClick={() => run(entry)}
          >
            <small>{entry.group}</small>
            <span>{entry.label}</span>
            <small title={entry.off ?? entry.note}>{entry.off ?? entry.note}</small>
          </li>
        ))}
      </ul>
      {entries.length === 0 && <p className={styles['nothing']}>{nothingFor(typed)}</p>}
    </>
  )
}

function nothingFor(typed: string): string {
  return readTyped(typed).group === 'Actions'
    ? 'This page has no such action. Open a build, or select builds in the list.'
    : 'Nothing has this name. Names, numbers of builds and commits are searched.'
}

/** Returns the entries for what is typed. What is known without the server comes at once. */
function useEntries(typed: string, onHelp: () => void): PaletteEntry[] {
  const [, go] = useLocation()
  const { group, text } = readTyped(typed)
  const isSearched = group === undefined || group === 'Builds'
  const found = useQuery(queries.search(useSettled(isSearched ? text : '', ASK_MS)))
  const people = useQuery({ ...queries.counts('initiator', {}), enabled: group === 'People' })
  const keys = useShortcutGroups()
  const rooms = useRooms()
  const own = useMemo(readPaletteActions, [])
  const recents = useMemo(readRecents, [])
  const hasLog = document.querySelector('[role="table"][aria-rowcount]') !== null
  return choose(
    withoutDoubles([
      ...(group === undefined && text === '' ? recentEntries(recents, go) : []),
      ...own,
      ...roomEntries(rooms, go),
      ...foundEntries(text === '' ? undefined : found.data, go),
      ...personEntries(people.data, go),
      ...lineEntries(text, hasLog),
      ...keyEntries(keys, onHelp),
    ]),
    typed,
  )
}
