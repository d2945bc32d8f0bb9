/** What stands above a list: buttons for its states, and the filters that are set. */
import { X } from 'lucide-react'
import type { ReactElement, ReactNode } from 'react'
import styles from './filters.module.css'

export interface StateChoice<S> {
  readonly value: S
  readonly label: ReactNode
}

interface StateButtonsProps<S> {
  readonly label: string
  readonly choices: readonly StateChoice<S>[]
  readonly current: S
  readonly onChoose: (value: S) => void
}

/** Buttons of which one is pressed. */
export function StateButtons<S extends string | undefined>(props: StateButtonsProps<S>): ReactElement {
  const { label, choices, current, onChoose } = props
  return (
    <div className={styles['states']} role="group" aria-label={label}>
      {choices.map((choice) => (
        <button
          key={choice.value ?? ''}
          type="button"
          aria-pressed={current === choice.value}
          onClick={() => onChoose(choice.value)}
        >
          {choice.label}
        </button>
      ))}
    </div>
  )
}

interface FilterChipProps {
  readonly name: string
  readonly value: string
  readonly onDrop: () => void
}

/** A filter that is set. A click drops it. */
export function FilterChip({ name, value, onDrop }: FilterChipProps): ReactElement {
  return (
    <button type="button" className={styles['chip']} aria-label={`Drop the filter ${name}: ${value}`} onClick={onDrop}>
      <span>{name}:</span>
      <bdi className="cut">{value}</bdi>
      <X size={14} aria-hidden />
    </button>
  )
}
