/** The form of a context of any type. It never has the value of a stored secret: a secret is kept or replaced. */
import { useMutation } from '@tanstack/react-query'
import type { Context, ContextInput } from '@windlass/protocol'
import { isIntegration } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Check } from '../parts/forms/choice.tsx'
import { Field } from '../parts/forms/field.tsx'
import layout from '../parts/layout.module.css'
import { Problem } from '../parts/problem.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import styles from './contexts.module.css'
import { newDraft, newField, toContextInput, toDraft, type DraftField } from './draft.ts'
import { SecretField } from './secret-field.tsx'
import { ValueField } from './value-field.tsx'

interface ContextFormProps {
  readonly type: ContextInput['type']
  /** The context that is changed. */
  readonly context?: Context
  readonly onStored: (context: Context) => void
  readonly onCancel?: () => void
}

export function ContextForm({ type, context, onStored, onCancel }: ContextFormProps): ReactElement {
  const state = useSession()
  const away = useAway()
  const [name, setName] = useState(context?.name ?? '')
  const [isDefault, setIsDefault] = useState(context?.isDefault ?? false)
  const [fields, setFields] = useState<readonly DraftField[]>(() => (context === undefined ? newDraft(type) : toDraft(context)))
  const input = toContextInput({ name, type, isDefault, fields })
  const store = useMutation({
    mutationFn: async (given: ContextInput) =>
      context === undefined ? client.contexts.create(given) : client.contexts.put(context.name, given),
    onSuccess: (stored) => {
      void queryClient.invalidateQueries({ queryKey: ['contexts'] })
      onStored(stored)
    },
  })
  const wrong = name.trim() === '' ? 'The context has no name.' : typeof input === 'string' ? input : undefined
  const off = away ?? whyNot(state.kind === 'in' ? state.session : undefined, 'change-contexts') ?? wrong
  const change = (index: number, more: Partial<DraftField>): void =>
    setFields(fields.map((field, at) => (at === index ? { ...field, ...more } : field)))
  return (
    <form
      className={layout['form']}
      autoComplete="off"
      onSubmit={(event) => {
        event.preventDefault()
        if (off === undefined && typeof input !== 'string' && !store.isPending) store.mutate(input)
      }}
    >
      <Field label="Name" value={name} maxLength={200} onChange={(event) => setName(event.target.value)} />
      <div className={layout['stack']} role="group" aria-label="Fields">
        {fields.map((field, index) => (
          <FieldRow
            // The fields of a draft have no other identity, and none is moved.
            key={index}
            type={type}
            field={field}
            wasStored={context !== undefined && Object.hasOwn(context.data, field.name)}
            onChange={(more) => change(index, more)}
            onRemove={() => setFields(fields.filter((_, at) => at !== index))}
          />
        ))}
      </div>
      {!isIntegration(type) && (
        <div className={layout['buttons']}>
          <Button small onClick={() => setFields([...fields, newField(type)])}>
            Add a variable
          </Button>
        </div>
      )}
      <Check
        label={isIntegration(type) ? 'Use it where a pipeline names none' : 'Give its variables to every build'}
        isOn={isDefault}
        onChange={setIsDefault}
      />
      {wrong !== undefined && name.trim() !== '' && <p role="alert">{wrong}</p>}
      {store.error !== null && <Problem error={store.error} />}
      <div className={layout['buttons']}>
        <Button type="submit" tone="primary" off={off} isBusy={store.isPending}>
          {context === undefined ? 'Add the context' : 'Save the context'}
        </Button>
        {onCancel !== undefined && <Button onClick={onCancel}>Cancel</Button>}
      </div>
    </form>
  )
}

interface FieldRowProps {
  readonly type: ContextInput['type']
  readonly field: DraftField
  readonly wasStored: boolean
  readonly onChange: (more: Partial<DraftField>) => void
  readonly onRemove: () => void
}

function FieldRow({ type, field, wasStored, onChange, onRemove }: FieldRowProps): ReactElement {
  const value = field.isSecret ? (
    <SecretField field={field} canKeep={wasStored} onChange={onChange} />
  ) : (
    <ValueField type={type} field={field} onChange={(text) => onChange({ value: text })} />
  )
  if (!field.isNamed) return value
  return (
    <div className={styles['variable']}>
      <Field
        label="Variable"
        value={field.name}
        // A stored secret is kept by its name.
        readOnly={field.isKept}
        onChange={(event) => onChange({ name: event.target.value })}
      />
      {value}
      <Button small tone="quiet" aria-label={`Remove the variable ${field.name}`} onClick={onRemove}>
        Remove
      </Button>
    </div>
  )
}
