/** One object of an application beside the page: its manifest, its differences, its events, and the logs of a pod. */
import { Dialog as Base } from '@base-ui/react/dialog'
import { useQuery } from '@tanstack/react-query'
import { X } from 'lucide-react'
import type { ReactElement } from 'react'
import { Status } from '../../../looks/status.tsx'
import { IconButton } from '../../../parts/button.tsx'
import { Empty } from '../../../parts/empty.tsx'
import layout from '../../../parts/layout.module.css'
import { Loading } from '../../../parts/loading.tsx'
import { Problem } from '../../../parts/problem.tsx'
import { Tabs } from '../../../parts/tabs.tsx'
import { deliveryQueries } from '../../queries.ts'
import { lookOfHealth, lookOfSync } from '../../states.ts'
import { keyOf, nameOf } from '../objects.ts'
import type { TreeObject } from '../tree.ts'
import type { LiveApplication } from '../use-live.ts'
import type { ObjectView, ShownObject } from '../use-object.ts'
import { containersOf, uidOf } from './containers.ts'
import { DifferencePanel } from './difference-panel.tsx'
import { EventsPanel } from './events-panel.tsx'
import { LogPanel } from './log-panel.tsx'
import { ManifestPanel } from './manifest-panel.tsx'
import styles from './object.module.css'

export interface ObjectDrawerProps {
  readonly live: LiveApplication
  readonly object: TreeObject
  /** True if the application does not have it any more. */
  readonly isGone: boolean
  readonly shown: ShownObject
}

const VIEWS: readonly (readonly [ObjectView, string])[] = [
  ['manifest', 'Manifest'],
  ['diff', 'Differences'],
  ['events', 'Events'],
  ['logs', 'Logs'],
]

/** Escape and the close button leave it, and the focus returns to where it was. */
export function ObjectDrawer({ live, object, isGone, shown }: ObjectDrawerProps): ReactElement {
  const { key, kind, health, sync, message } = object
  const isPod = kind === 'Pod' && (object.group ?? '') === ''
  return (
    <Base.Root open onOpenChange={(isOpen) => !isOpen && shown.close()}>
      <Base.Portal>
        <Base.Backdrop className={styles['backdrop']} />
        <Base.Popup className={styles['drawer']}>
          <div className={styles['head']}>
            <Base.Title render={<h2 />}>
              <bdi>{nameOf(object)}</bdi>
            </Base.Title>
            <IconButton label="Dismiss" onClick={shown.close}>
              <X size={16} aria-hidden />
            </IconButton>
          </div>
          {(health !== undefined || sync !== undefined) && (
            <p className={layout['facts']}>
              {health !== undefined && <Status look={lookOfHealth(health)} />}
              {sync !== undefined && <Status look={lookOfSync(sync)} />}
              {message !== '' && <bdi>{message}</bdi>}
            </p>
          )}
          {isGone && (
            <p className={layout['warning']} role="status">
              The application does not have the object any more.
            </p>
          )}
          <Tabs
            label="Parts of the object"
            tabs={VIEWS.filter(([view]) => view !== 'logs' || isPod).map(([view, label]) => ({
              label,
              href: shown.hrefOf(key, view),
              isCurrent: view === shown.view,
            }))}
          />
          <View live={live} object={object} view={shown.view === 'logs' && !isPod ? 'manifest' : shown.view} />
        </Base.Popup>
      </Base.Portal>
    </Base.Root>
  )
}

interface ViewProps {
  readonly live: LiveApplication
  readonly object: TreeObject
  readonly view: ObjectView
}

function View({ live, object, view }: ViewProps): ReactElement {
  const { data, error, isPending, refetch } = useQuery(deliveryQueries.resource(live.id, keyOf(object)))
  if (view === 'diff') return <DifferencePanel id={live.id} object={object} />
  if (isPending) return <Loading rows={8} what="the object" />
  // What was read stays while the runtime is away.
  if (data === undefined) return <Problem error={error} onRetry={() => void refetch()} />
  if (view === 'manifest') return <ManifestPanel live={live} object={object} manifest={data} />
  if (view === 'events') {
    const uid = uidOf(data)
    return uid === undefined ? (
      <Empty>The object has no id, so it has no events.</Empty>
    ) : (
      <EventsPanel live={live} object={object} uid={uid} />
    )
  }
  return <LogPanel live={live} pod={object.name} namespace={object.namespace ?? ''} containers={containersOf(data)} />
}
