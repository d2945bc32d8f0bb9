/** Saves or renames a view. */
import { useMutation } from '@tanstack/react-query'
import { fault } from '@windlass/kit/faults'
import type { Preferences, ViewFilter } from '@windlass/protocol'
import { useState, type FormEvent, type ReactElement } from 'react'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Dialog } from '../parts/dialog.tsx'
import { Field } from '../parts/field.tsx'
import { Problem } from '../parts/problem.tsx'
import { command } from '../parts/shell.ts'
import { client } from '../server/client.ts'
import { useSession, whyNot } from '../server/session.ts'
import { tell } from '../shell/toasts.tsx'
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
  const state = useSession()
  const noShare = whyNot(state.kind === 'in' ? state.session : undefined, 'share-views')
  const { mutate, error, isPending } = useMutation({
    mutationFn: () => saveView({ name: name.trim(), filter, isShared, view }),
    onSuccess: () => {
      tell({ text: view === undefined ? `Saved the view ${name.trim()}.` : `Renamed the view to ${name.trim()}.` })
      onClose()
    },
  })
  const submit = (event: FormEvent): void => {
    event.preventDefault()
    if (name.trim() !== '') mutate()
  }
  return (
    <Dialog isOpen onClose={onClose} title={view === undefined ? 'Save the filters as a view' : `Rename the view ${view.name}`}>
      <form className={styles['form']} onSubmit={submit}>
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
        {name.trim() !== '' && <Command text={command`windlass get builds --view ${name.trim()}`} />}
        {error !== null && <Problem error={error} />}
        <div className={styles['buttons']}>
          <Button type="submit" tone="primary" isBusy={isPending} off={name.trim() === '' ? 'The view needs a name.' : undefined}>
            {view === undefined ? 'Save the view' : 'Rename the view'}
          </Button>
          <Button onClick={onClose}>Cancel</Button>
        </div>
      </form>
    </Dialog>
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
