/** The rail with the places of the page. */
import { PanelLeft } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { Link, useLocation } from 'wouter'
import { Logo } from '../looks/logo.tsx'
import { IconButton } from '../parts/button.tsx'
import { paths } from '../url/paths.ts'
import { isIn, ROOMS, type Room } from './rooms.ts'
import { useShortcuts } from './shortcuts.ts'
import styles from './shell.module.css'

const KEY = 'windlass.rail'
const GROUPS = ['Work', 'Fleet'] as const

function readFolded(): boolean {
  try {
    return localStorage.getItem(KEY) === 'folded'
  } catch {
    return false
  }
}

/** `badges` are numbers beside rooms, by the name of the room. */
export function Rail({ badges }: { readonly badges: Readonly<Record<string, number>> }): ReactElement {
  const [isFolded, setIsFolded] = useState(readFolded)
  const toggle = (): void => {
    setIsFolded(!isFolded)
    try {
      localStorage.setItem(KEY, isFolded ? 'open' : 'folded')
    } catch {
      // The choice holds until the page is closed.
    }
  }
  useShortcuts('Rail', [{ keys: '[', does: 'Fold or open the rail', run: toggle }])
  return (
    <nav className={styles['rail']} data-folded={isFolded} aria-label="Places">
      <Link href={paths.builds()} className={styles['brand'] ?? ''}>
        <Logo size={20} />
        <span>Windlass</span>
      </Link>
      {GROUPS.map((group) => (
        <Rooms key={group} group={group} badges={badges} />
      ))}
      <div className={styles['fold']}>
        <IconButton label={isFolded ? 'Open the rail' : 'Fold the rail'} onClick={toggle}>
          <PanelLeft size={16} aria-hidden />
        </IconButton>
      </div>
    </nav>
  )
}

function Rooms({
  group,
  badges,
}: {
  readonly group: Room['group']
  readonly badges: Readonly<Record<string, number>>
}): ReactElement | null {
  const [path] = useLocation()
  const rooms = ROOMS.filter((room) => room.group === group)
  if (rooms.length === 0) return null
  return (
    <div className={styles['group']}>
      <h2>{group}</h2>
      {rooms.map((room) => (
        <Link
          key={room.path}
          href={room.path}
          className={styles['room'] ?? ''}
          aria-current={isIn(room, path) ? 'page' : undefined}
          aria-label={room.name}
        >
          <room.icon size={16} aria-hidden />
          <span>{room.name}</span>
          {(badges[room.name] ?? 0) > 0 && <b>{badges[room.name]}</b>}
        </Link>
      ))}
    </div>
  )
}
