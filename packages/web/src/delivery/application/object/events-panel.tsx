/** The events that Kubernetes has recorded of an object. They are kept for about an hour. */
import { useQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { Command } from '../../../parts/copy.tsx'
import { Empty } from '../../../parts/empty.tsx'
import layout from '../../../parts/layout.module.css'
import { Loading } from '../../../parts/loading.tsx'
import { Problem } from '../../../parts/problem.tsx'
import { sh } from '../../../parts/shell.ts'
import { Table } from '../../../parts/table.tsx'
import { When } from '../../../parts/when.tsx'
import { deliveryQueries } from '../../queries.ts'
import { fullNameOf, type Named } from '../objects.ts'
import type { LiveApplication } from '../use-live.ts'

export interface EventsPanelProps {
  readonly live: LiveApplication
  readonly object: Named
  readonly uid: string
}

export function EventsPanel({ live, object, uid }: EventsPanelProps): ReactElement {
  const { name, namespace } = object
  const { data, error, isPending, refetch } = useQuery(
    deliveryQueries.events(live.id, { uid, name, namespace: namespace || undefined }),
  )
  const { runtime, name: app } = live.reported
  // The newest first, as elsewhere in the page.
  const events = data?.toReversed() ?? []
  return (
    <div className={layout['tight']}>
      {isPending && <Loading rows={4} what="the events" />}
      {error !== null && <Problem error={error} onRetry={() => void refetch()} />}
      {error === null && data?.length === 0 && (
        <Empty>Kubernetes has no events of the object. It keeps them for about an hour.</Empty>
      )}
      {error === null && events.length > 0 && (
        <Table
          caption="Events"
          rows={events.map((event, index) => ({ event, index }))}
          keyOf={({ index }) => index}
          columns={[
            { head: 'Last seen', cell: ({ event: { at } }) => at !== undefined && <When at={at} /> },
            { head: 'Type', cell: ({ event: { type } }) => type },
            { head: 'Reason', cell: ({ event: { reason } }) => <bdi>{reason}</bdi> },
            { head: 'Count', cell: ({ event: { count } }) => count ?? 1 },
            { head: 'Message', cell: ({ event: { message } }) => <bdi>{message}</bdi> },
          ]}
        />
      )}
      <Command text={sh`windlass gitops app events ${runtime} ${app} ${fullNameOf(object)}`} />
    </div>
  )
}
