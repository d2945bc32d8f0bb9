/** The rail with the places of the page. */
import { PanelLeft } from 'lucide-react'
import { useState, type ReactElement } from 'react'
import { Link, useLocation } from 'wouter'
import { Logo } from '../looks/logo.tsx'
import { IconButton } from '../parts/button.tsx'
import { Tooltip } from '../parts/floating/tooltip.tsx'
import { useSession, whyNot } from '../server/session.ts'
import { useStore } from '../server/store.ts'
import { paths } from '../url/paths.ts'
import { useFindings, type RoomFinding } from './findings.ts'
import { badges, isIn, useRooms, type Room } from './rooms.ts'
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

export function Rail(): ReactElement {
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
        <Rooms key={group} group={group} isFolded={isFolded} />
      ))}
      <div className={styles['fold']}>
        <IconButton label={isFolded ? 'Open the rail' : 'Fold the rail'} onClick={toggle}>
          <PanelLeft size={16} aria-hidden />
        </IconButton>
      </div>
    </nav>
  )
}

function Rooms({ group, isFolded }: { readonly group: Room['group']; readonly isFolded: boolean }): ReactElement | null {
  const state = useSession()
  const session = state.kind === 'in' || state.kind === 'ended' ? state.session : undefined
  const numbers = useStore(badges)
  const rooms = useRooms().filter(
    (room) => room.group === group && (room.right === undefined || whyNot(session, room.right) === undefined),
  )
  const findings = useFindings()
  if (rooms.length === 0) return null
  return (
    <div className={styles['group']}>
      <h2>{group}</h2>
      {rooms.map((room) => (
        <RoomLink key={room.path} room={room} badge={numbers[room.name] ?? 0} finding={findings[room.name]} isFolded={isFolded} />
      ))}
    </div>
  )
}

interface RoomLinkProps {
  readonly room: Room
  readonly badge: number
  readonly finding: RoomFinding | undefined
  readonly isFolded: boolean
}

function RoomLink({ room, badge, finding, isFolded }: RoomLinkProps): ReactElement {
  const [path] = useLocation()
  const link = (
    <Link
      href={room.path}
      className={styles['room'] ?? ''}
      aria-current={isIn(room, path) ? 'page' : undefined}
      // What is visible is part of the name.
      aria-label={badge > 0 ? `${room.name} ${badge}` : room.name}
      aria-description={finding?.sentence}
      title={isFolded && finding === undefined ? room.name : undefined}
    >
      <room.icon size={16} aria-hidden />
      <span>{room.name}</span> {badge > 0 && <b>{badge}</b>}
      {finding !== undefined && <i data-level={finding.level} />}
    </Link>
  )
  return finding === undefined ? link : <Tooltip text={finding.sentence}>{link}</Tooltip>
}
