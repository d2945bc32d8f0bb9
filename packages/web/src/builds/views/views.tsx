/** Views of the list of builds: filters with a name, of the user or of all users. */
import { useMutation, useQuery } from '@tanstack/react-query'
import type { Preferences } from '@windlass/protocol'
import { Bookmark, Ellipsis, Users } from 'lucide-react'
import { Fragment, useState, type ReactElement } from 'react'
import { Button } from '../../parts/button.tsx'
import { Menu } from '../../parts/floating/menu.tsx'
import { client } from '../../server/client.ts'
import { useAway } from '../../shell/away-bar.tsx'
import { tell, tellProblem } from '../../shell/toasts.tsx'
import { useOff } from '../../shell/use-off.ts'
import { isUnfiltered, type BuildFilter } from '../../url/build-filter.ts'
import styles from './views.module.css'
import { fromViewFilter, isOfView, toViewFilter } from './view-filter.ts'
import { changePreferences, refreshShared, viewQueries, type ShownView } from './view-queries.ts'
import { ViewDialog } from './view-dialog.tsx'

interface ViewsProps {
  readonly filter: BuildFilter
  readonly onChange: (filter: BuildFilter) => void
}

export function Views({ filter, onChange }: ViewsProps): ReactElement | null {
  const [dialog, setDialog] = useState<'save' | 'rename'>()
  const away = useAway()
  const views = useViews()
  const current = views.find((view) => isOfView(filter, view.filter))
  const isSavable = current === undefined && !isUnfiltered(filter)
  if (views.length === 0 && !isSavable) return null
  return (
    <div className={styles['views']} role="group" aria-label="Views">
      {views.map((view) => (
        <Fragment key={`${view.name} ${view.shared}`}>
          <button
            type="button"
            className={styles['view']}
            aria-pressed={view === current}
            onClick={() => onChange(view === current ? {} : fromViewFilter(view.filter))}
          >
            {view.shared ? <Users size={14} aria-label="Shared view" /> : <Bookmark size={14} aria-hidden />}
            <bdi className="cut">{view.name}</bdi>
            {view.isDefault && <span>default</span>}
          </button>
          {view === current && <ViewMenu view={view} onRename={() => setDialog('rename')} />}
        </Fragment>
      ))}
      {isSavable && (
        <Button small tone="quiet" off={away} icon={<Bookmark size={14} aria-hidden />} onClick={() => setDialog('save')}>
          Save view
        </Button>
      )}
      {dialog === 'save' && <ViewDialog filter={toViewFilter(filter)} view={undefined} onClose={() => setDialog(undefined)} />}
      {dialog === 'rename' && current !== undefined && (
        <ViewDialog filter={current.filter} view={current} onClose={() => setDialog(undefined)} />
      )}
    </div>
  )
}

/** Returns the own views, then the shared ones. */
export function useViews(): readonly ShownView[] {
  const { data: preferences } = useQuery(viewQueries.preferences())
  const { data: shared } = useQuery(viewQueries.shared())
  const isDefault = (name: string, isShared: boolean): boolean =>
    preferences?.defaultView?.name === name && preferences.defaultView.shared === isShared
  return [
    ...(preferences?.views ?? []).map(({ name, filter }) => ({ name, filter, shared: false, isDefault: isDefault(name, false) })),
    ...(shared?.items ?? []).map(({ name, filter }) => ({ name, filter, shared: true, isDefault: isDefault(name, true) })),
  ]
}

function ViewMenu({ view, onRename }: { readonly view: ShownView; readonly onRename: () => void }): ReactElement {
  const { name, shared, isDefault } = view
  const away = useAway()
  const noShare = useOff('share-views')
  const off = shared ? noShare : away
  const { mutate } = useMutation({
    mutationFn: async (work: () => Promise<unknown>) => work(),
    onError: tellProblem,
  })
  const remove = async (): Promise<void> => {
    if (shared) {
      await client.views.delete(name)
      await refreshShared()
    }
    if (!shared || isDefault) await changePreferences((before) => withoutView(before, view))
    tell({ text: `Removed the view ${name}.` })
  }
  return (
    <Menu
      button={
        <Button small tone="quiet" aria-label={`Actions of the view ${name}`}>
          <Ellipsis size={16} aria-hidden />
        </Button>
      }
      groups={[
        [
          {
            label: 'Open the page with this view',
            isMarked: isDefault,
            off: away,
            onChoose: () => mutate(() => changePreferences((before) => withDefault(before, isDefault ? undefined : view))),
          },
          { label: 'Rename', off, onChoose: onRename },
        ],
        [{ label: 'Remove the view', tone: 'danger', off, onChoose: () => mutate(remove) }],
      ]}
    />
  )
}

function withDefault({ defaultView: _old, ...before }: Preferences, view: ShownView | undefined): Preferences {
  return view === undefined ? before : { ...before, defaultView: { name: view.name, shared: view.shared } }
}

function withoutView(before: Preferences, view: ShownView): Preferences {
  const views = view.shared ? before.views : before.views.filter(({ name }) => name !== view.name)
  return { ...(view.isDefault ? withDefault(before, undefined) : before), views }
}
