/** A dialog that asks for values. Enter in a field does what its button does. */
import { useId, type ReactElement, type ReactNode } from 'react'
import { Button, type ButtonTone } from '../button.tsx'
import { Dialog } from '../floating/dialog.tsx'
import styles from '../parts.module.css'

export interface FormDialogProps {
  readonly title: string
  /** What the button says, a verb with its object. */
  readonly verb: string
  readonly tone?: ButtonTone
  /** Why the button does nothing now. */
  readonly off: string | undefined
  readonly isBusy: boolean
  readonly onSubmit: () => void
  readonly onClose: () => void
  readonly isWide?: boolean
  readonly children: ReactNode
}

export function FormDialog({
  title,
  verb,
  tone = 'primary',
  off,
  isBusy,
  onSubmit,
  onClose,
  isWide = false,
  children,
}: FormDialogProps): ReactElement {
  const id = useId()
  return (
    <Dialog
      isOpen
      isWide={isWide}
      onClose={onClose}
      title={title}
      actions={
        <>
          <Button type="submit" form={id} tone={tone} off={off} isBusy={isBusy}>
            {verb}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <form
        id={id}
        className={styles['form']}
        onSubmit={(event) => {
          event.preventDefault()
          if (off === undefined && !isBusy) onSubmit()
        }}
      >
        {children}
      </form>
    </Dialog>
  )
}
