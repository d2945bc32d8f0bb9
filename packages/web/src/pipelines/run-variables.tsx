/** The variables of a run: those of the pipeline and of the trigger with their origin, and others that are added. */
import { Plus, X } from 'lucide-react'
import { useId, type ReactElement } from 'react'
import { Button, IconButton } from '../parts/button.tsx'
import styles from './run.module.css'
import type { RunVariable } from './run-values.ts'
import { VariableRow } from './variable-row.tsx'

/** A variable that the build has anyway, unless the run sets it. */
export interface KnownVariable {
  readonly key: string
  readonly value: string
  readonly encrypted: boolean
  /** Where its value comes from. */
  readonly origin: string
}

interface RunVariablesProps {
  readonly known: readonly KnownVariable[]
  readonly variables: readonly RunVariable[]
  readonly onChange: (variables: readonly RunVariable[]) => void
}

export function RunVariables({ known, variables, onChange }: RunVariablesProps): ReactElement {
  const names = new Set(known.map(({ key }) => key))
  const replace = (index: number, next: RunVariable | undefined): void =>
    onChange(next === undefined ? variables.toSpliced(index, 1) : variables.with(index, next))
  return (
    <fieldset className={styles['variables']}>
      <legend>Variables</legend>
      {known.map((one) => (
        <KnownRow
          key={one.key}
          known={one}
          set={variables.find(({ name }) => name === one.key)}
          onSet={(value) => {
            const index = variables.findIndex(({ name }) => name === one.key)
            if (value === undefined) onChange(variables.toSpliced(index, 1))
            else if (index === -1) onChange([...variables, { name: one.key, value, isSecret: one.encrypted }])
            else replace(index, { name: one.key, value, isSecret: one.encrypted })
          }}
        />
      ))}
      {variables.map((one, index) =>
        names.has(one.name) ? null : (
          <VariableRow
            key={index}
            variable={one}
            onChange={(changes) => replace(index, { ...one, ...changes })}
            onRemove={() => replace(index, undefined)}
          />
        ),
      )}
      <div>
        <Button
          small
          icon={<Plus size={14} aria-hidden />}
          onClick={() => onChange([...variables, { name: '', value: '', isSecret: false }])}
        >
          Add a variable
        </Button>
      </div>
    </fieldset>
  )
}

function KnownRow({
  known: { key, value, encrypted, origin },
  set,
  onSet,
}: {
  readonly known: KnownVariable
  readonly set: RunVariable | undefined
  readonly onSet: (value: string | undefined) => void
}): ReactElement {
  const id = useId()
  return (
    <div className={styles['variable']}>
      <label htmlFor={id} className="mono">
        <bdi>{key}</bdi>
      </label>
      <input
        id={id}
        type={encrypted ? 'password' : 'text'}
        autoComplete="off"
        placeholder={encrypted ? 'Secret, already set' : value}
        value={set?.value ?? ''}
        onChange={({ target }) => onSet(target.value)}
      />
      <span className="quiet">{set === undefined ? origin : `overrides ${origin}`}</span>
      {set === undefined ? (
        <span />
      ) : (
        <IconButton label={`Use the value of the ${origin} for ${key}`} onClick={() => onSet(undefined)}>
          <X size={16} aria-hidden />
        </IconButton>
      )}
    </div>
  )
}
