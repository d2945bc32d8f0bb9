/** Pauses new builds with a reason, which every waiting build repeats, and lets them start again. */
import { useMutation } from '@tanstack/react-query'
import { plural } from '@windlass/plan'
import type { AccountSettings } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Field } from '../parts/forms/field.tsx'
import { FormDialog } from '../parts/forms/form-dialog.tsx'
import { Problem, toProblem } from '../parts/problem.tsx'
import { sh } from '../parts/shell.ts'
import { client } from '../server/client.ts'
import { queryClient } from '../server/query-client.ts'
import { usePaletteActions } from '../shell/palette/palette-actions.ts'
import { tell } from '../shell/toasts.tsx'
import { useOff } from '../shell/use-off.ts'
import styles from './system.module.css'

/** Changes only the pause. The other settings are read right before, because a write replaces all of them. */
async function setPause(pause: Pick<AccountSettings, 'pauseBuilds' | 'pauseReason'>): Promise<void> {
  const { pauseReason: _, ...settings } = await client.settings.get()
  await client.settings.put({ ...settings, ...pause })
  for (const key of ['system', 'settings', 'runtimes', 'builds', 'build']) void queryClient.invalidateQueries({ queryKey: [key] })
}

export function PauseButton({ settings }: { readonly settings: AccountSettings }): ReactElement | null {
  const [isAsking, setIsAsking] = useState(false)
  const off = useOff('manage-account')
  usePaletteActions(() => [
    {
      id: 'system pause',
      group: 'Actions',
      label: 'Pause new builds',
      off: off ?? (settings.pauseBuilds ? 'New builds are paused already.' : undefined),
      run: () => setIsAsking(true),
    },
  ])
  if (settings.pauseBuilds) return null
  return (
    <>
      <Button off={off} onClick={() => setIsAsking(true)}>
        Pause builds
      </Button>
      {isAsking && <PauseDialog onClose={() => setIsAsking(false)} />}
    </>
  )
}

function PauseDialog({ onClose }: { readonly onClose: () => void }): ReactElement {
  const [reason, setReason] = useState('')
  const off = useOff('manage-account')
  const text = reason.trim()
  const pause = useMutation({
    mutationFn: () => setPause({ pauseBuilds: true, ...(text !== '' && { pauseReason: text }) }),
    onSuccess: () => {
      tell({ text: 'New builds are paused.' })
      onClose()
    },
  })
  return (
    <FormDialog
      title="Pause new builds?"
      verb="Pause builds"
      tone="danger"
      off={off}
      isBusy={pause.isPending}
      onSubmit={() => pause.mutate()}
      onClose={onClose}
    >
      <p>New builds of all pipelines wait until the pause ends. Running builds continue.</p>
      <Field
        label="Reason"
        autoFocus
        maxLength={500}
        placeholder="upgrade of the database"
        hint="Every waiting build repeats it."
        value={reason}
        onChange={(event) => setReason(event.target.value)}
      />
      {pause.error !== null && <Problem error={pause.error} />}
      <Command text={sh`windlass set settings pauseBuilds=true ${text === '' ? [] : [`pauseReason=${text}`]}`} />
    </FormDialog>
  )
}

/** Says that builds are paused, why, and ends it. */
export function Pause({
  settings,
  waiting,
}: {
  readonly settings: AccountSettings
  readonly waiting: number
}): ReactElement | null {
  const off = useOff('manage-account')
  const resume = useMutation({
    mutationFn: () => setPause({ pauseBuilds: false }),
    onSuccess: () => tell({ text: 'New builds start again.' }),
    onError: (error) => tell({ text: toProblem(error).message, tone: 'bad' }),
  })
  if (!settings.pauseBuilds) return null
  return (
    <section className={styles['pause']} aria-label="Pause">
      <p>
        <strong>New builds are paused{settings.pauseReason === undefined ? '.' : ': '}</strong>
        {settings.pauseReason !== undefined && <bdi>{settings.pauseReason}</bdi>}
        <span className="quiet">
          {' '}
          {waiting === 0 ? 'No build waits.' : `${plural(waiting, 'build')} ${waiting === 1 ? 'waits' : 'wait'}.`}
        </span>
      </p>
      <Button off={off} isBusy={resume.isPending} onClick={() => resume.mutate()}>
        Let builds start
      </Button>
    </section>
  )
}
