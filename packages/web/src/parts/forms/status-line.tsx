/** The sentence of a thing, with its shape. Screen readers are told once when the state changes. */
import type { ReactElement, ReactNode } from 'react'
import type { Look } from '../../looks/states.ts'
import { StatusMark } from '../../looks/status.tsx'
import styles from '../parts.module.css'

export function StatusLine({ look, children }: { readonly look: Look; readonly children: ReactNode }): ReactElement {
  return (
    <div className={styles['sentence']}>
      <StatusMark look={look} beside />
      <p>{children}</p>
      <span className="unseen" role="status">
        {look.word}
      </span>
    </div>
  )
}
