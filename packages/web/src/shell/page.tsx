/** The frame of a screen: its title in the tab, its heading, and its actions. */
import { useEffect, type ReactElement, type ReactNode } from 'react'
import styles from './shell.module.css'

export type Favicon = 'windlass' | 'run' | 'wait' | 'ok' | 'bad' | 'stop'

export interface PageProps {
  readonly title: string
  /** Heading if it is not the title. */
  readonly heading?: ReactNode
  readonly favicon?: Favicon
  readonly actions?: ReactNode
  readonly children: ReactNode
}

export function Page({ title, heading, favicon = 'windlass', actions, children }: PageProps): ReactElement {
  useTab(title, favicon)
  return (
    <main id="main" className={styles['page']} tabIndex={-1}>
      <div className={styles['head']}>
        <h1>{heading ?? title}</h1>
        {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
      </div>
      {children}
    </main>
  )
}

/** Shows a title and an icon in the tab of the browser. */
export function useTab(title: string, favicon: Favicon): void {
  useEffect(() => {
    document.title = title === 'Windlass' ? title : `${title} · Windlass`
    document.querySelector<HTMLLinkElement>('#favicon')?.setAttribute('href', `/icons/${favicon}.svg`)
  }, [title, favicon])
}
