/** The variables of a pipeline. A stored secret is never shown: a new value replaces it. */
import { Plus, X } from 'lucide-react'
import type { ReactElement } from 'react'
import { Button, IconButton } from '../parts/button.tsx'
import run from '../pipelines/run.module.css'
import type { FormVariable } from './form.ts'

interface VariablesFormProps {
  readonly variables: readonly FormVariable[]
  readonly isOff: boolean
  readonly onChange: (variables: readonly FormVariable[]) => void
}

export function VariablesForm({ variables, isOff, onChange }: VariablesFormProps): ReactElement {
  return (
    <fieldset className={run['variables']} disabled={isOff}>
      <legend>Variables</legend>
      {variables.map((one, index) => {
        const name = one.key === '' ? 'the variable' : one.key
        const change = (changes: Partial<FormVariable>): void => onChange(variables.with(index, { ...one, ...changes }))
        return (
          <div key={index} className={run['variable']} role="group" aria-label={`Variable ${one.key}`}>
            <input
              aria-label="Name of the variable"
              placeholder="NAME"
              maxLength={200}
              value={one.key}
              readOnly={one.isKept}
              onChange={({ target }) => change({ key: target.value.trim() })}
            />
            <input
              aria-label={`Value of ${name}`}
              type={one.encrypted ? 'password' : 'text'}
              autoComplete="off"
              placeholder={one.isKept ? 'Set. Write a new value to replace it' : ''}
              value={one.value}
              onChange={({ target }) => change({ value: target.value, isKept: false })}
            />
            <label className={run['check']}>
              <input
                type="checkbox"
                checked={one.encrypted}
                // The value of a stored secret cannot be read again, so it cannot become plain.
                disabled={one.isKept}
                onChange={({ target }) => change({ encrypted: target.checked })}
              />
              secret
            </label>
            <IconButton label={`Remove ${name}`} onClick={() => onChange(variables.toSpliced(index, 1))}>
              <X size={16} aria-hidden />
            </IconButton>
          </div>
        )
      })}
      <div>
        <Button
          small
          icon={<Plus size={14} aria-hidden />}
          off={isOff ? 'The document sets the variables.' : undefined}
          onClick={() => onChange([...variables, { key: '', value: '', encrypted: false, isKept: false }])}
        >
          Add a variable
        </Button>
      </div>
    </fieldset>
  )
}
