/** Changes how many builds a runtime runs at once. */
import { useMutation, useQuery } from '@tanstack/react-query'
import { isFault } from '@windlass/kit/faults'
import { plural } from '@windlass/plan'
import type { Runtime } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/floating/dialog.tsx'
import { Field } from '../parts/forms/field.tsx'
import { FormDialog } from '../parts/forms/form-dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { useOff } from '../shell/use-off.ts'
import { tell } from '../shell/toasts.tsx'
import { fleet } from './queries.ts'
import { refreshRuntimes, saveRuntime } from './save-runtime.ts'

interface CapacityProps {
  /** Name of the runtime. */
  readonly name: string
  readonly onClose: () => void
}

export function CapacityDialog({ name, onClose }: CapacityProps): ReactElement {
  const own = useQuery(fleet.runtime(name))
  const merged = useQuery(fleet.merged(name))
  const error = own.error ?? merged.error
  const isRead = own.data !== undefined && merged.data !== undefined
  return (
    <>
      {/* No dialog while it is read: closing that one would take the focus from the form. */}
      {!isRead && error !== null && (
        <Dialog isOpen onClose={onClose} title={`Capacity of ${name}`}>
          <Problem error={error} />
        </Dialog>
      )}
      {isRead && <CapacityForm key={name} runtime={own.data} merged={merged.data} onClose={onClose} />}
    </>
  )
}

interface FormProps {
  readonly runtime: Runtime
  readonly merged: Runtime
  readonly onClose: () => void
}

function CapacityForm({ runtime, merged, onClose }: FormProps): ReactElement {
  const now = capacityOf(merged)
  const [text, setText] = useState(String((now ?? runtime.running) + 1))
  const off = useOff('manage-runners')
  const wanted = Number(text)
  const isNumber = /^\d{1,6}$/.test(text)
  const save = useMutation({
    mutationFn: () =>
      saveRuntime({
        runtime,
        spec: { ...runtime.spec, capacity: wanted },
        description: `capacity ${now ?? 'unlimited'} -> ${wanted}`,
      }),
    onSuccess: () => {
      tell({ text: `${runtime.name} runs up to ${plural(wanted, 'build')}.` })
      onClose()
    },
    // The next click changes the version that was read again.
    onError: (error) => isFault(error, 'conflict') && refreshRuntimes(),
  })
  return (
    <FormDialog
      title={`Capacity of ${runtime.name}`}
      verb="Save the capacity"
      off={off ?? (isNumber ? undefined : 'The capacity is not a whole number.')}
      isBusy={save.isPending}
      onSubmit={() => save.mutate()}
      onClose={onClose}
    >
      <p>
        {runtime.running} {now === undefined ? '' : `of ${now} `}builds run, {runtime.waiting} wait.{' '}
        {originOf(runtime, merged, now)}
      </p>
      <Field
        label="Builds that run at the same time"
        inputMode="numeric"
        autoFocus
        value={text}
        error={isNumber ? undefined : 'Write a whole number.'}
        hint="Running builds continue if the number becomes smaller."
        onChange={(event) => setText(event.target.value.trim())}
      />
      {save.error !== null && <Problem error={save.error} />}
      <Command text={sh`windlass patch re ${runtime.name} --capacity ${isNumber ? wanted : 'NUMBER'}`} />
    </FormDialog>
  )
}

function capacityOf({ spec }: Runtime): number | undefined {
  return typeof spec['capacity'] === 'number' ? spec['capacity'] : undefined
}

function originOf(runtime: Runtime, { origins = {} }: Runtime, capacity: number | undefined): string {
  if (capacity === undefined) return 'There is no limit.'
  const from = origins['capacity']
  return from === undefined || from === runtime.name ? '' : `The limit comes from ${from}; the new one is that of this runtime.`
}
