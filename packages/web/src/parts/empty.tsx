/** What a screen says when it has nothing to show: one sentence, and the one thing that changes it. */
import type { ReactElement, ReactNode } from 'react'
import styles from './parts.module.css'

export function Empty({ children, action }: { readonly children: ReactNode; readonly action?: ReactNode }): ReactElement {
  return (
    <div className={styles['empty']}>
      <p>{children}</p>
      {action}
    </div>
  )
}
