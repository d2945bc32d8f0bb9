/** Renames an agent, and issues a new token for it. */
import { useMutation } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../../parts/button.tsx'
import { Command } from '../../parts/copy.tsx'
import { Dialog } from '../../parts/floating/dialog.tsx'
import { Field } from '../../parts/forms/field.tsx'
import { FormDialog } from '../../parts/forms/form-dialog.tsx'
import { Problem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import { ShownOnce } from '../../parts/shown-once.tsx'
import { client } from '../../server/client.ts'
import { queryClient } from '../../server/query-client.ts'
import { tell } from '../../shell/toasts.tsx'
import { useOff } from '../../shell/use-off.ts'
import { paths } from '../../url/paths.ts'
import { refreshRuntimes } from '../save-runtime.ts'

interface DialogProps {
  readonly name: string
  readonly onClose: () => void
}

/** Runtimes keep their agent under its new name. */
export function RenameDialog({ name, onClose }: DialogProps): ReactElement {
  const [, go] = useLocation()
  const [wanted, setWanted] = useState(name)
  const off = useOff('manage-runners')
  const typed = wanted.trim()
  const rename = useMutation({
    mutationFn: () => client.agents.patch(name, { name: typed }),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ['agents'] })
      refreshRuntimes()
      go(paths.agent(typed), { replace: true })
      tell({ text: `The agent is called ${typed}.` })
      onClose()
    },
  })
  const same = typed === '' || typed === name ? 'Write another name.' : undefined
  return (
    <FormDialog
      title={`Rename ${name}`}
      verb="Rename the agent"
      off={off ?? same}
      isBusy={rename.isPending}
      onSubmit={() => rename.mutate()}
      onClose={onClose}
    >
      <Field
        label="Name"
        autoFocus
        maxLength={150}
        value={wanted}
        hint="Its token and its runtimes stay. The agent itself needs no change."
        onChange={(event) => setWanted(event.target.value)}
      />
      {rename.error !== null && <Problem error={rename.error} />}
      <Command text={sh`windlass patch agents ${name} -n ${typed === '' ? 'NAME' : typed}`} />
    </FormDialog>
  )
}

/** Asks first, because the old token is worth nothing at once. The new one is shown in this dialog only. */
export function NewTokenDialog({ name, onClose }: DialogProps): ReactElement {
  const off = useOff('manage-runners')
  const renew = useMutation({ mutationFn: () => client.agents.renewToken(name) })
  const token = renew.data?.token
  if (token !== undefined)
    return (
      <Dialog isOpen onClose={onClose} title={`New token of ${name}`} actions={<Button onClick={onClose}>Done</Button>}>
        <ShownOnce title="The token is shown only now." parts={[{ label: 'Token', text: token }]}>
          The agent is disconnected until it has this token.
        </ShownOnce>
        <p>Store it in a file, and install the agent again with it:</p>
        <Command text={sh`windlass install agent --name ${name} --token-file token.txt`} />
      </Dialog>
    )
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Make a new token for ${name}?`}
      actions={
        <>
          <Button tone="danger" off={off} isBusy={renew.isPending} onClick={() => renew.mutate()}>
            Make a new token
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </>
      }
    >
      <p>The present token is revoked at once. Running builds continue, but no build starts until the agent has the new token.</p>
      {renew.error !== null && <Problem error={renew.error} />}
    </Dialog>
  )
}
