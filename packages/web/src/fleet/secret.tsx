/** A secret that is shown once. */
import type { ReactElement } from 'react'
import { CopyButton } from '../parts/copy.tsx'
import styles from './fleet.module.css'

export function Secret({ text, label }: { readonly text: string; readonly label: string }): ReactElement {
  return (
    <div className={styles['secret']} role="group" aria-label={label}>
      <code tabIndex={0}>{text}</code>
      <CopyButton text={text} label={`Copy the ${label.toLowerCase()}`} />
    </div>
  )
}
