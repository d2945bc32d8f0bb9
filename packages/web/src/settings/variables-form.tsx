/** The variables of a pipeline. A stored secret is never shown: a new value replaces it. */
import { Plus } from 'lucide-react'
import type { ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import run from '../pipelines/run.module.css'
import { VariableRow, type VariableFields } from '../pipelines/variable-row.tsx'
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
      {variables.map((one, index) => (
        <VariableRow
          key={index}
          variable={{ name: one.key, value: one.value, isSecret: one.encrypted }}
          isKept={one.isKept}
          onChange={(changes) => onChange(variables.with(index, change(one, changes)))}
          onRemove={() => onChange(variables.toSpliced(index, 1))}
        />
      ))}
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

/** A stored secret with a new value is no longer kept. */
function change(variable: FormVariable, { name, value, isSecret }: Partial<VariableFields>): FormVariable {
  return {
    ...variable,
    ...(name !== undefined && { key: name }),
    ...(value !== undefined && { value, isKept: false }),
    ...(isSecret !== undefined && { encrypted: isSecret }),
  }
}
