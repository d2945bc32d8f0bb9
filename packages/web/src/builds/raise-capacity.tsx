/** Changes how many builds a runtime runs at once. */
import { useMutation } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { useAway } from '../shell/away-bar.tsx'
import { tell } from '../shell/toasts.tsx'
import { quoteWord } from '../url/shell-words.ts'
import styles from './builds.module.css'

interface RaiseCapacityProps {
  readonly runtime: string
  /** The capacity that applies now. */
  readonly limit: number
}

export function RaiseCapacity({ runtime, limit }: RaiseCapacityProps): ReactElement {
  const [isOpen, setIsOpen] = useState(false)
  const away = useAway()
  const state = useSession()
  const off = away ?? whyNot(state.kind === 'in' ? state.session : undefined, 'manage-runners')
  return (
    <>
      <Button small off={off} onClick={() => setIsOpen(true)}>
        Raise capacity
      </Button>
      <Dialog isOpen={isOpen} onClose={() => setIsOpen(false)} title={`Capacity of ${runtime}`}>
        {isOpen && <Form runtime={runtime} limit={limit} onDone={() => setIsOpen(false)} />}
      </Dialog>
    </>
  )
}

function Form({ runtime, limit, onDone }: RaiseCapacityProps & { readonly onDone: () => void }): ReactElement {
  const [typed, setTyped] = useState(String(limit + 1))
  const capacity = Number(typed)
  const isValid = Number.isSafeInteger(capacity) && capacity >= 0 && typed.trim() !== ''
  const save = useMutation({
    mutationFn: async () => {
      // The specification as it is now: another person may have changed it while the dialog was open.
      const { name, type, agent, isDefault, spec } = await client.runtimes.get(runtime)
      return client.runtimes.put(name, {
        name,
        type,
        isDefault,
        ...(agent !== undefined && { agent }),
        spec: { ...spec, capacity },
      })
    },
    onSuccess: () => {
      onDone()
      tell({ text: `The runtime ${runtime} runs at most ${capacity} builds at once.` })
      void queryClient.invalidateQueries({ queryKey: ['runtimes'] })
      void queryClient.invalidateQueries({ queryKey: ['builds', 'queue'] })
    },
  })
  return (
    <form
      className={styles['form']}
      onSubmit={(event) => {
        event.preventDefault()
        if (isValid && !save.isPending) save.mutate()
      }}
    >
      <Field
        label="Builds at once"
        type="number"
        min={0}
        step={1}
        required
        autoFocus
        value={typed}
        onChange={(event) => setTyped(event.target.value)}
        hint={`Now ${limit}. The cluster must have room for the pods of all of them.`}
      />
      {save.error !== null && <Problem error={save.error} />}
      <div className={styles['links']}>
        <Button
          type="submit"
          tone="primary"
          off={isValid ? undefined : 'The capacity is a whole number.'}
          isBusy={save.isPending}
        >
          Save the capacity
        </Button>
        <Button tone="quiet" onClick={onDone}>
          Leave it
        </Button>
      </div>
      <p className={styles['note']}>
        The same on the command line, with the new value of <code>capacity</code> in the file:
      </p>
      <Command text={`windlass get re ${quoteWord(runtime)} -o yaml > re.yaml`} />
      <Command text={`windlass patch re ${quoteWord(runtime)} -f re.yaml`} />
    </form>
  )
}
