/** The bar above each screen: search, whether changes arrive, theme and person. */
import { CircleHelp, Search } from 'lucide-react'
import { Suspense, type ReactElement } from 'react'
import { IconButton } from '../parts/button.tsx'
import { Tooltip } from '../parts/floating/tooltip.tsx'
import { useLiveness, type Liveness } from '../server/stream.ts'
import { late } from './late.tsx'
import styles from './shell.module.css'

/** Menus are a chunk of their own, which the first paint does not wait for. */
const TopMenus = late(async () => (await import('./top-menus.tsx')).TopMenus)

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
      <Suspense fallback={<span className={styles['menus']} />}>
        <TopMenus />
      </Suspense>
    </header>
  )
}
