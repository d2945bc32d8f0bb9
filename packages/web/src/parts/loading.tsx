/** Bars of the size of what comes. They appear after 150 ms, so that quick answers do not flicker. */
import { useEffect, useState, type ReactElement } from 'react'
import styles from './parts.module.css'

const DELAY_MS = 150

export function Loading({ rows = 6, what }: { readonly rows?: number; readonly what: string }): ReactElement {
  const [isShown, setIsShown] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setIsShown(true), DELAY_MS)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className={styles['bars']} role="status" aria-label={`Loading ${what}`}>
      {isShown && Array.from({ length: rows }, (_, index) => <div key={index} className={styles['bar']} />)}
    </div>
  )
}
