/** Chooses a trigger of a pipeline, or none. */
import { useId, type ReactElement } from 'react'
import styles from './editor.module.css'

interface TriggerSelectProps {
  readonly names: readonly string[]
  readonly value: string
  readonly onChange: (name: string) => void
}

export function TriggerSelect({ names, value, onChange }: TriggerSelectProps): ReactElement {
  const id = useId()
  // An address may name a trigger that does not exist; the server says so.
  const all = value === '' || names.includes(value) ? names : [value, ...names]
  return (
    <div className={styles['select']}>
      <label htmlFor={id}>Trigger</label>
      <select id={id} value={value} onChange={(event) => onChange(event.target.value)}>
        <option value="">None, started by hand</option>
        {all.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </select>
    </div>
  )
}
