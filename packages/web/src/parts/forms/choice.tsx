/** Fields that offer what can be chosen: one of several, or yes and no. */
import { useId, type ReactElement, type ReactNode } from 'react'
import layout from '../layout.module.css'
import styles from '../parts.module.css'

export interface Option {
  readonly value: string
  readonly label: string
}

interface SelectProps {
  readonly label: string
  readonly hint?: ReactNode
  readonly options: readonly Option[]
  readonly value: string
  readonly onChange: (value: string) => void
}

/** A field with one of several values. */
export function Select({ label, hint, options, value, onChange }: SelectProps): ReactElement {
  const id = useId()
  return (
    <div className={styles['field']}>
      <label className={styles['label']} htmlFor={id}>
        {label}
      </label>
      <select
        id={id}
        className={styles['input']}
        value={value}
        aria-describedby={hint === undefined ? undefined : `${id}-hint`}
        onChange={(event) => onChange(event.target.value)}
      >
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
      {hint !== undefined && (
        <p id={`${id}-hint`} className={styles['hint']}>
          {hint}
        </p>
      )}
    </div>
  )
}

interface CheckProps {
  readonly label: string
  readonly isOn: boolean
  readonly onChange: (isOn: boolean) => void
}

/** A field with yes or no. */
export function Check({ label, isOn, onChange }: CheckProps): ReactElement {
  return (
    <label className={layout['choice']}>
      <input type="checkbox" checked={isOn} onChange={(event) => onChange(event.target.checked)} />
      <span>{label}</span>
    </label>
  )
}

interface ChecksProps {
  readonly legend: string
  readonly options: readonly string[]
  readonly chosen: readonly string[]
  readonly onChange: (chosen: readonly string[]) => void
}

/** Several values of a list. */
export function Checks({ legend, options, chosen, onChange }: ChecksProps): ReactElement {
  return (
    <fieldset className={layout['choices']}>
      <legend>{legend}</legend>
      {options.map((option) => (
        <Check
          key={option}
          label={option}
          isOn={chosen.includes(option)}
          onChange={(isOn) => onChange(isOn ? [...chosen, option] : chosen.filter((one) => one !== option))}
        />
      ))}
    </fieldset>
  )
}
