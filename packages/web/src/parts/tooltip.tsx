/** A short text about an element, while it has the pointer or the focus. */
import { Tooltip as Base } from '@base-ui/react/tooltip'
import type { ReactElement, ReactNode } from 'react'
import styles from './float.module.css'

/** Shows `text` for the only child, which must take a ref and event handlers. */
export function Tooltip({
  text,
  children,
}: {
  readonly text: ReactNode
  readonly children: ReactElement<Record<string, unknown>>
}): ReactElement {
  return (
    <Base.Root>
      <Base.Trigger render={children} delay={400} />
      <Base.Portal>
        <Base.Positioner sideOffset={6} className={styles['layer']}>
          <Base.Popup className={styles['tooltip']}>{text}</Base.Popup>
        </Base.Positioner>
      </Base.Portal>
    </Base.Root>
  )
}
