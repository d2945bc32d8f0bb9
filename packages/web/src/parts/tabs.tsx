/** Parts of a thing as links, because each has its own address. */
import type { ReactElement } from 'react'
import { Link } from 'wouter'
import styles from './parts.module.css'

export interface Tab {
  readonly label: string
  readonly href: string
  readonly count?: number | undefined
  readonly isCurrent: boolean
}

export function Tabs({ label, tabs }: { readonly label: string; readonly tabs: readonly Tab[] }): ReactElement {
  return (
    <nav className={styles['tabs']} aria-label={label}>
      {tabs.map((tab) => (
        <Link
          key={tab.href}
          ref={tab.isCurrent ? center : undefined}
          href={tab.href}
          className={styles['tab'] ?? ''}
          aria-current={tab.isCurrent ? 'page' : undefined}
        >
          {tab.label}
          {tab.count !== undefined && <span>{tab.count}</span>}
        </Link>
      ))}
    </nav>
  )
}

/** Brings a tab into view where the bar is too narrow for all, without a movement of the page. */
function center(tab: HTMLElement | null): void {
  const bar = tab?.parentElement
  if (tab === null || bar === null || bar === undefined) return
  bar.scrollLeft = tab.offsetLeft - bar.offsetLeft - (bar.clientWidth - tab.offsetWidth) / 2
}
