/** Renames an agent, and issues a new token for it. */
import { useMutation } from '@tanstack/react-query'
import { useState, type ReactElement } from 'react'
import { useLocation } from 'wouter'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { FormDialog } from '../parts/form-dialog.tsx'
import { Problem } from '../parts/problem.tsx'
import { command } from '../parts/shell.ts'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { tell } from '../shell/toasts.tsx'
import { useOff } from '../shell/use-off.ts'
import { paths } from '../url/paths.ts'
import { refreshRuntimes } from './save-runtime.ts'
import { Secret } from './secret.tsx'

interface DialogProps {
  readonly name: string
  readonly onClose: () => void
}

/** Runtimes keep their agent under its new name. */
export function RenameDialog({ name, onClose }: DialogProps): ReactElement {
  const [, go] = useLocation()
  const [wanted, setWanted] = useState(name)
  const off = useOff('manage-runners')
  const rename = useMutation({
    mutationFn: () => client.agents.patch(name, { name: wanted }),
    onSuccess: () => {
      void queryClient.invalidateQueries({ queryKey: ['agents'] })
      refreshRuntimes()
      go(paths.agent(wanted), { replace: true })
      tell({ text: `The agent is called ${wanted}.` })
      onClose()
    },
  })
  const same = wanted.trim() === '' || wanted === name ? 'Write another name.' : undefined
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
      <Command text={command`windlass patch agents ${name} -n ${wanted}`} />
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
        <p>The token is shown once. The agent is disconnected until it has this token.</p>
        <Secret text={token} label="Token" />
        <p>Store it in a file, and install the agent again with it:</p>
        <Command text={command`windlass install agent --name ${name} --token-file token.txt`} />
      </Dialog>
    )
  return (
    <Dialog
      isOpen
      onClose={onClose}
      title={`Make a new token for ${name}?`}
      actions={
        <>
          <Button onClick={onClose}>Keep the token</Button>
          <Button tone="danger" off={off} isBusy={renew.isPending} onClick={() => renew.mutate()}>
            Make a new token
          </Button>
        </>
      }
    >
      <p>The present token is revoked at once. Running builds continue, but no build starts until the agent has the new token.</p>
      {renew.error !== null && <Problem error={renew.error} />}
    </Dialog>
  )
}
