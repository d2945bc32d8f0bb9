/** A field of a form with its label, its hint and what is wrong with it. */
import { useId, type ComponentProps, type ReactElement, type ReactNode } from 'react'
import styles from '../parts.module.css'

interface FieldProps extends Omit<ComponentProps<'input'>, 'id' | 'className' | 'style'> {
  readonly label: string
  readonly hint?: ReactNode
  readonly error?: string | undefined
}

/** A text field. */
export function Field({ label, hint, error, ...input }: FieldProps): ReactElement {
  const id = useId()
  const below = [error === undefined ? '' : `${id}-error`, hint === undefined ? '' : `${id}-hint`]
    .filter((one) => one !== '')
    .join(' ')
  return (
    <div className={styles['field']}>
      <label className={styles['label']} htmlFor={id}>
        {label}
      </label>
      <input
        {...input}
        id={id}
        className={styles['input']}
        aria-invalid={error !== undefined || undefined}
        aria-describedby={below === '' ? undefined : below}
      />
      {error !== undefined && (
        <p id={`${id}-error`} className={styles['error']}>
          {error}
        </p>
      )}
      {hint !== undefined && (
        <p id={`${id}-hint`} className={styles['hint']}>
          {hint}
        </p>
      )}
    </div>
  )
}

interface TextAreaProps extends Omit<ComponentProps<'textarea'>, 'id' | 'className' | 'style'> {
  readonly label: string
}

/** A field of several lines. */
export function TextArea({ label, ...area }: TextAreaProps): ReactElement {
  const id = useId()
  return (
    <div className={styles['field']}>
      <label className={styles['label']} htmlFor={id}>
        {label}
      </label>
      <textarea {...area} id={id} className={styles['input']} />
    </div>
  )
}
