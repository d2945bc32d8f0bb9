/** The menus of the top bar: the looks of the page, and the person who is signed in. */
import { Monitor, Moon, Sun, User } from 'lucide-react'
import type { ReactElement } from 'react'
import { DENSITIES, setLooks, THEMES, useLooks } from '../looks/looks.ts'
import { Menu } from '../parts/floating/menu.tsx'
import { nameOf, signOut, useSession } from '../server/session.ts'
import styles from './shell.module.css'
import { tell } from './toasts.tsx'

export function TopMenus(): ReactElement {
  return (
    <>
      <LooksMenu />
      <PersonMenu />
    </>
  )
}

const THEME_ICONS = { system: Monitor, light: Sun, dark: Moon } as const

function LooksMenu(): ReactElement {
  const looks = useLooks()
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
          onChoose: () => setLooks({ ...looks, theme }),
        })),
        DENSITIES.map((density) => ({
          label: { comfortable: 'Comfortable rows', compact: 'Compact rows' }[density],
          isMarked: looks.density === density,
          onChoose: () => setLooks({ ...looks, density }),
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
