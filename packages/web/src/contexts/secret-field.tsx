/** A secret field: stored and kept, or written anew. What logs would show of it is told while it is typed. */
import { describeUnmasked } from '@windlass/plan'
import { useId, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { TextArea } from '../parts/forms/field.tsx'
import layout from '../parts/layout.module.css'
import styles from './contexts.module.css'
import type { DraftField } from './draft.ts'

interface SecretFieldProps {
  readonly field: DraftField
  /** True if a value is stored, which can be kept. */
  readonly canKeep: boolean
  readonly onChange: (more: Partial<DraftField>) => void
}

export function SecretField({ field, canKeep, onChange }: SecretFieldProps): ReactElement {
  const { name, value, isKept, isNamed } = field
  const id = useId()
  const label = isNamed ? 'Value' : name
  if (isKept)
    return (
      <div className={styles['kept']} role="group" aria-labelledby={id}>
        <span id={id}>{isNamed ? `Value of ${name}` : name}</span>
        <p>Set. Write a new value to replace it; the old one cannot be shown.</p>
        <div className={layout['buttons']}>
          <Button small onClick={() => onChange({ isKept: false })}>
            Write a new value
          </Button>
        </div>
      </div>
    )
  const warning = describeUnmasked(value)
  return (
    <div className={layout['tight']}>
      <TextArea
        label={canKeep ? `${label}, new. Empty removes it.` : label}
        rows={value.includes('\n') ? 6 : 1}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={value}
        onChange={(event) => onChange({ value: event.target.value })}
      />
      <div role="status">{warning !== undefined && <p className={layout['warning']}>{warning}</p>}</div>
      {canKeep && (
        <div className={layout['buttons']}>
          <Button small tone="quiet" onClick={() => onChange({ isKept: true, value: '' })}>
            Keep the stored value
          </Button>
        </div>
      )}
    </div>
  )
}
