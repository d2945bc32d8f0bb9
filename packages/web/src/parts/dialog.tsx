/** A question or a form above the page. Escape and its close button leave it. */
import { Dialog as Base } from '@base-ui/react/dialog'
import type { ReactElement, ReactNode } from 'react'
import styles from './float.module.css'

export interface DialogProps {
  readonly isOpen: boolean
  readonly onClose: () => void
  readonly title: string
  readonly children?: ReactNode
  /** Buttons at the end, the one that does it first. */
  readonly actions?: ReactNode
  readonly isWide?: boolean
}

/** A dialog. The focus stays inside, and returns to where it was. */
export function Dialog({ isOpen, onClose, title, children, actions, isWide = false }: DialogProps): ReactElement {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose()}>
      <Base.Portal>
        <Base.Backdrop className={styles['backdrop']} />
        <Base.Popup className={styles['dialog']} data-wide={isWide}>
          <Base.Title render={<h2 />}>{title}</Base.Title>
          {children}
          {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
