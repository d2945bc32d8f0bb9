/** Names with their values, in two columns. */
import type { ReactElement, ReactNode } from 'react'
import styles from './parts.module.css'

/** Shows the entries that have a value. */
export function Definitions({
  entries,
}: {
  readonly entries: readonly (readonly [name: string, value: ReactNode])[]
}): ReactElement {
  return (
    <dl className={styles['definitions']}>
      {entries
        .filter(([, value]) => value !== undefined && value !== '')
        .map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
    </dl>
  )
}
