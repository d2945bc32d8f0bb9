/** The palette: one field that goes to pages, builds and pipelines, and runs the actions of what is shown. */
import { Dialog as Base } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { useEffect, useMemo, useRef, useState, type KeyboardEvent, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import type { SearchResults } from '@windlass/protocol'
import float from '../parts/float.module.css'
import { queries } from '../server/queries.ts'
import { paths } from '../url/paths.ts'
import { readPaletteActions } from './palette-actions.ts'
import { choose, type PaletteEntry } from './palette-entries.ts'
import { ROOMS } from './rooms.ts'
import styles from './shell.module.css'

const ASK_MS = 120

export function Palette({ isOpen, onClose }: { readonly isOpen: boolean; readonly onClose: () => void }): ReactElement {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={float['backdrop']} />
        <Base.Popup className={styles['palette']} aria-label="Search or go to">
          {isOpen && <Content onClose={onClose} />}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

function Content({ onClose }: { readonly onClose: () => void }): ReactElement {
  const [, go] = useLocation()
  const [typed, setTyped] = useState('')
  const [chosen, setChosen] = useState<string>()
  const found = useQuery(queries.search(useSettled(typed.replace(/^[>#]/, '').trim())))
  const own = useMemo(readPaletteActions, [])
  const entries = choose([...own, ...roomEntries(go), ...foundEntries(found.data, go)], typed)
  const index = Math.max(
    0,
    entries.findIndex(({ id }) => id === chosen),
  )
  const list = useRef<HTMLUListElement>(null)
  useEffect(() => {
    list.current?.children[index]?.scrollIntoView({ block: 'nearest' })
  }, [index])

  const run = (entry: PaletteEntry | undefined): void => {
    if (entry === undefined || entry.off !== undefined) return
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
        placeholder="Pages, pipelines, #build, > action"
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
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
            <small>{entry.off ?? entry.note}</small>
          </li>
        ))}
      </ul>
      {entries.length === 0 && (
        <p className={styles['nothing']}>Nothing has this name. Names, numbers of builds and commits are searched.</p>
      )}
    </>
  )
}

/** Returns a text after it has stayed the same for a moment. */
function useSettled(text: string): string {
  const [settled, setSettled] = useState(text)
  useEffect(() => {
    const timer = setTimeout(() => setSettled(text), ASK_MS)
    return () => clearTimeout(timer)
  }, [text])
  return settled
}

type Go = (path: string) => void

function roomEntries(go: Go): PaletteEntry[] {
  return ROOMS.map(({ name, path, key }) => ({
    id: `room ${name}`,
    group: 'Pages',
    label: name,
    note: `g ${key}`,
    run: () => go(path),
  }))
}

function foundEntries(found: SearchResults | undefined, go: Go): PaletteEntry[] {
  return (found?.items ?? []).map(({ kind, id, name, build }) => {
    if (build === undefined)
      return { id: `${kind} ${id}`, group: 'Names', label: name, note: kind, run: () => go(pathOfName(kind, name)) }
    const note = [build.pipeline, build.branch, build.status].filter((part) => part !== undefined).join(' · ')
    return { id: `build ${id}`, group: 'Builds', label: `#${build.number}`, note, run: () => go(paths.build(build.id)) }
  })
}

function pathOfName(kind: string, name: string): string {
  if (kind === 'pipeline') return paths.builds({ pipeline: [name] })
  if (kind === 'project') return paths.builds({ project: [name] })
  if (kind === 'runtime') return paths.runtime(name)
  return paths.context(name)
}
