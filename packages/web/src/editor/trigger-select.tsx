/** Chooses a trigger of a pipeline, or none. */
import type { ReactElement } from 'react'
import { Select } from '../parts/forms/choice.tsx'

interface TriggerSelectProps {
  readonly names: readonly string[]
  readonly value: string
  readonly onChange: (name: string) => void
}

export function TriggerSelect({ names, value, onChange }: TriggerSelectProps): ReactElement {
  // An address may name a trigger that does not exist; the server says so.
  const all = value === '' || names.includes(value) ? names : [value, ...names]
  return (
    <Select
      label="Trigger"
      options={[{ value: '', label: 'None, started by hand' }, ...all.map((name) => ({ value: name, label: name }))]}
      value={value}
      onChange={onChange}
    />
  )
}
