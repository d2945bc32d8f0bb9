/** Saves or renames a view. */
import { useMutation } from '@tanstack/react-query'
import { fault } from '@windlass/kit/faults'
import type { Preferences, ViewFilter } from '@windlass/protocol'
import { useState, type ReactElement } from 'react'
import { Command } from '../../parts/copy.tsx'
import { Field } from '../../parts/forms/field.tsx'
import { FormDialog } from '../../parts/forms/form-dialog.tsx'
import { Problem } from '../../parts/problem.tsx'
import { sh } from '../../parts/shell.ts'
import { client } from '../../server/client.ts'
import { useAway } from '../../shell/away-bar.tsx'
import { tell } from '../../shell/toasts.tsx'
import { useHidden } from '../../shell/use-off.ts'
import { changePreferences, refreshShared, type ShownView } from './view-queries.ts'
import styles from './views.module.css'

interface ViewDialogProps {
  readonly filter: ViewFilter
  /** The view to rename; undefined for a new one. */
  readonly view: ShownView | undefined
  readonly onClose: () => void
}

export function ViewDialog({ filter, view, onClose }: ViewDialogProps): ReactElement {
  const [name, setName] = useState(view?.name ?? '')
  const [isShared, setIsShared] = useState(view?.shared ?? false)
  const away = useAway()
  const noShare = useHidden('share-views')
  const typed = name.trim()
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => saveView({ name: typed, filter, isShared, view }),
    onSuccess: () => {
      tell({ text: view === undefined ? `Saved the view ${typed}.` : `Renamed the view to ${typed}.` })
      onClose()
    },
  })
  return (
    <FormDialog
      title={view === undefined ? 'Save the filters as a view' : `Rename the view ${view.name}`}
      verb={view === undefined ? 'Save the view' : 'Rename the view'}
      off={away ?? (typed === '' ? 'The view needs a name.' : undefined)}
      isBusy={isPending}
      onSubmit={() => mutate()}
      onClose={onClose}
    >
      <Field label="Name" value={name} maxLength={60} required autoFocus onChange={(event) => setName(event.target.value)} />
      {view === undefined && (
        <label className={styles['share']}>
          <input
            type="checkbox"
            checked={isShared}
            disabled={noShare !== undefined}
            onChange={(event) => setIsShared(event.target.checked)}
          />
          Share it with all users
          {noShare !== undefined && <small>{noShare}</small>}
        </label>
      )}
      {typed !== '' && <Command text={sh`windlass get builds --view ${typed}`} />}
      {error !== null && <Problem error={error} />}
    </FormDialog>
  )
}

interface Saved {
  readonly name: string
  readonly filter: ViewFilter
  readonly isShared: boolean
  readonly view: ShownView | undefined
}

async function saveView({ name, filter, isShared, view }: Saved): Promise<void> {
  if (isShared) {
    if (view === undefined) await client.views.create({ name, filter })
    else await client.views.put(view.name, { name, filter })
    await refreshShared()
    if (view?.isDefault === true) await changePreferences((before) => ({ ...before, defaultView: { name, shared: true } }))
    return
  }
  await changePreferences((before) => withView(before, { name, filter, view }))
}

/** Returns the preferences with a new or renamed own view. Throws `conflict` if the name is taken. */
function withView(before: Preferences, { name, filter, view }: Omit<Saved, 'isShared'>): Preferences {
  const others = before.views.filter((one) => one.name !== view?.name)
  if (others.some((one) => one.name === name))
    throw fault('conflict', { message: `You already have a view with the name "${name}".`, hint: 'Use another name.' })
  const views =
    view === undefined
      ? [...others, { name, filter }]
      : before.views.map((one) => (one.name === view.name ? { name, filter } : one))
  return { ...before, views, ...(view?.isDefault === true && { defaultView: { name, shared: false } }) }
}
