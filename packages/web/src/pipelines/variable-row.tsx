/** The fields of one variable whose name can be written: name, value, whether it is secret, and its removal. */
import { X } from 'lucide-react'
import type { ReactElement } from 'react'
import { IconButton } from '../parts/button.tsx'
import styles from './run.module.css'

export interface VariableFields {
  readonly name: string
  readonly value: string
  readonly isSecret: boolean
}

interface VariableRowProps {
  readonly variable: VariableFields
  /** True for a stored secret that keeps its value. It cannot be read again, so it can neither be renamed nor become plain. */
  readonly isKept?: boolean
  readonly onChange: (changes: Partial<VariableFields>) => void
  readonly onRemove: () => void
}

export function VariableRow({ variable, isKept = false, onChange, onRemove }: VariableRowProps): ReactElement {
  const { name, value, isSecret } = variable
  const called = name === '' ? 'the variable' : name
  return (
    <div className={styles['variable']} role="group" aria-label={`Variable ${name}`}>
      <input
        aria-label="Name of the variable"
        placeholder="NAME"
        maxLength={200}
        value={name}
        readOnly={isKept}
        onChange={({ target }) => onChange({ name: target.value.trim() })}
      />
      <input
        aria-label={`Value of ${called}`}
        type={isSecret ? 'password' : 'text'}
        autoComplete="off"
        placeholder={isKept ? 'Set. Write a new value to replace it' : ''}
        value={value}
        onChange={({ target }) => onChange({ value: target.value })}
      />
      <label className={styles['check']}>
        <input
          type="checkbox"
          checked={isSecret}
          disabled={isKept}
          onChange={({ target }) => onChange({ isSecret: target.checked })}
        />
        secret
      </label>
      <IconButton label={`Remove ${called}`} onClick={onRemove}>
        <X size={16} aria-hidden />
      </IconButton>
    </div>
  )
}
