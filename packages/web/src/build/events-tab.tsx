/** The events of a build in their order. */
import { useInfiniteQuery } from '@tanstack/react-query'
import type { ReactElement } from 'react'
import { formatExact } from '../looks/time.ts'
import { Button } from '../parts/button.tsx'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { Table } from '../parts/table.tsx'
import { queries } from '../server/queries.ts'
import styles from './build.module.css'

export function EventsTab({ id }: { readonly id: string }): ReactElement {
  const feed = useInfiniteQuery(queries.feed(id))
  if (feed.isPending) return <Loading what="events" />
  if (feed.data === undefined) return <Problem error={feed.error} onRetry={() => void feed.refetch()} />
  const events = feed.data.pages.flatMap(({ items }) => items).filter((item) => item.kind === 'event')
  return (
    <>
      <Table
        caption="Events"
        rows={events}
        keyOf={({ position }) => position}
        columns={[
          { head: 'At', cell: ({ at }) => <time dateTime={new Date(at).toISOString()}>{formatExact(at)}</time> },
          { head: 'Event', cell: ({ type }) => <bdi className="mono">{type}</bdi> },
          { head: 'By', cell: ({ source, attempt }) => `${source}${attempt === 0 ? '' : `, attempt ${attempt}`}` },
          {
            head: 'Data',
            cell: ({ data }) => <bdi className={`mono ${styles['data'] ?? ''}`}>{JSON.stringify(data).slice(0, 2_000)}</bdi>,
          },
        ]}
      />
      {feed.hasNextPage && (
        <Button isBusy={feed.isFetchingNextPage} onClick={() => void feed.fetchNextPage()}>
          Show later events
        </Button>
      )}
    </>
  )
}
