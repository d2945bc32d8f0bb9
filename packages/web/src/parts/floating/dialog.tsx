/** A question or a form above the page. Escape and its close button leave it. A click beside it does not, so that nothing typed is lost. */
import { Dialog as Base } from '@base-ui/react/dialog'
import { X } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import { IconButton } from '../button.tsx'
import styles from './float.module.css'

export interface DialogProps {
  readonly isOpen: boolean
  /** Absent for a dialog that cannot be left. */
  readonly onClose?: (() => void) | undefined
  readonly title: string
  readonly children?: ReactNode
  /** Buttons at the end, the one that does it first. */
  readonly actions?: ReactNode
  readonly isWide?: boolean
}

/** A dialog. The focus stays inside, and returns to where it was. */
export function Dialog({ isOpen, onClose, title, children, actions, isWide = false }: DialogProps): ReactElement {
  return (
    <Base.Root open={isOpen} onOpenChange={(open) => !open && onClose?.()} disablePointerDismissal>
      <Base.Portal>
        <Base.Backdrop className={styles['backdrop']} />
        <Base.Popup className={styles['dialog']} data-wide={isWide}>
          <Base.Title render={<h2 />}>{title}</Base.Title>
          {children}
          {actions !== undefined && <div className={styles['actions']}>{actions}</div>}
          {/* Behind the content, so that a field gets the focus first. */}
          {onClose !== undefined && (
            <div className={styles['dismiss']}>
              <IconButton label="Dismiss" onClick={onClose}>
                <X size={16} aria-hidden />
              </IconButton>
            </div>
          )}
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}
