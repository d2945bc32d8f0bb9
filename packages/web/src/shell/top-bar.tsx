/** The bar above each screen: search, whether changes arrive, theme and person. */
import { CircleHelp, Monitor, Moon, Search, Sun, User } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { DENSITIES, readLooks, setLooks, THEMES, type Looks } from '../looks/looks.ts'
import { IconButton } from '../parts/button.tsx'
import { Menu } from '../parts/menu.tsx'
import { Tooltip } from '../parts/tooltip.tsx'
import { nameOf, signOut, useSession } from '../server/session.ts'
import { useLiveness, type Liveness } from '../server/stream.ts'
import styles from './shell.module.css'
import { tell } from './toasts.tsx'

const WORDS: Readonly<Record<Liveness, string>> = {
  live: 'Changes appear by themselves.',
  connecting: 'Connecting, to show changes by themselves.',
  off: 'Changes appear when the page is read again.',
}

export function TopBar({ onSearch, onHelp }: { readonly onSearch: () => void; readonly onHelp: () => void }): ReactElement {
  const liveness = useLiveness()
  return (
    <header className={styles['top']}>
      <button type="button" className={styles['search']} onClick={onSearch}>
        <Search size={16} aria-hidden />
        <span>Search or go to</span>
        <kbd>Ctrl K</kbd>
      </button>
      <Tooltip text={WORDS[liveness]}>
        <span className={styles['live']} data-state={liveness} tabIndex={0}>
          {liveness === 'live' ? 'live' : liveness === 'off' ? 'not live' : 'connecting'}
        </span>
      </Tooltip>
      <IconButton label="Keys of this page" onClick={onHelp}>
        <CircleHelp size={16} aria-hidden />
      </IconButton>
      <LooksMenu />
      <PersonMenu />
    </header>
  )
}

const THEME_ICONS = { system: Monitor, light: Sun, dark: Moon } as const

function LooksMenu(): ReactElement {
  const [looks, setShown] = useState(readLooks)
  const change = (next: Looks): void => {
    setLooks(next)
    setShown(next)
  }
  const Icon = THEME_ICONS[looks.theme]
  return (
    <Menu
      button={
        <button type="button" className={styles['chip']} aria-label={`Theme: ${looks.theme}`}>
          <Icon size={16} aria-hidden />
        </button>
      }
      groups={[
        THEMES.map((theme) => ({
          label: { system: 'Like the system', light: 'Light', dark: 'Dark' }[theme],
          isMarked: looks.theme === theme,
          onChoose: () => change({ ...looks, theme }),
        })),
        DENSITIES.map((density) => ({
          label: { comfortable: 'Comfortable rows', compact: 'Compact rows' }[density],
          isMarked: looks.density === density,
          onChoose: () => change({ ...looks, density }),
        })),
      ]}
    />
  )
}

function PersonMenu(): ReactElement | null {
  const state = useSession()
  if (state.kind !== 'in') return null
  const { session } = state
  const leave = (): void => {
    signOut().catch((error: unknown) => tell({ text: error instanceof Error ? error.message : String(error), tone: 'bad' }))
  }
  return (
    <Menu
      button={
        <button type="button" className={styles['chip']} aria-label={`Signed in as ${nameOf(session)}`}>
          <User size={16} aria-hidden />
          <span>{nameOf(session)}</span>
        </button>
      }
      groups={[[{ label: 'Sign out', note: `${nameOf(session)}, ${session.role}`, onChoose: leave }]]}
    />
  )
}
