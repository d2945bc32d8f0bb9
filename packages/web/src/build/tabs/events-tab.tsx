/** The events of a build in their order. New ones appear while it runs. */
import { useInfiniteQuery } from '@tanstack/react-query'
import { isFinalBuild } from '@windlass/plan'
import type { Build, FeedItem } from '@windlass/protocol'
import { useEffect, useState, type ReactElement } from 'react'
import { formatExact } from '../../looks/time.ts'
import { Button } from '../../parts/button.tsx'
import { Empty } from '../../parts/empty.tsx'
import { Loading } from '../../parts/loading.tsx'
import { Problem } from '../../parts/problem.tsx'
import { Table } from '../../parts/table.tsx'
import { queries } from '../../server/queries.ts'
import { useTopics } from '../../server/stream.ts'
import styles from '../build.module.css'

/** Events that are read without asking. */
const MOST = 2_000

export function EventsTab({ build }: { readonly build: Build }): ReactElement {
  const list = useInfiniteQuery(queries.events(build.id))
  const { hasNextPage, isFetching, fetchNextPage } = list
  const stored = (list.data?.pages ?? []).flatMap(({ items }) => items)
  const isShort = stored.length < MOST
  useEffect(() => {
    if (isShort && hasNextPage && !isFetching) void fetchNextPage()
  }, [isShort, hasNextPage, isFetching, fetchNextPage])
  const live = useLiveEvents(build, list.data !== undefined && !hasNextPage ? (stored.at(-1)?.position ?? 0) : undefined)
  if (list.isPending) return <Loading what="events" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  // The stream can send again what is stored.
  const items = [...new Map([...stored, ...live].map((item) => [item.position, item])).values()]
  const events = items.filter((item) => item.kind === 'event').toSorted((one, other) => one.position - other.position)
  if (events.length === 0) return <Empty>The build has no events yet.</Empty>
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
      {!isShort && hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void fetchNextPage()}>
          Show later events
        </Button>
      )}
    </>
  )
}

/** Returns the events that arrive while the build runs. `last` is the position of the last stored one, once all are read. */
function useLiveEvents({ id, status }: Build, last: number | undefined): readonly FeedItem[] {
  const [wasOpen] = useState(!isFinalBuild(status))
  const [from, setFrom] = useState<number>()
  const [items, setItems] = useState<readonly FeedItem[]>([])
  if (from === undefined && last !== undefined && wasOpen) setFrom(last)
  useTopics(from === undefined ? [] : [`build:${id}:${from}`], ({ event, data }) => {
    if (event === 'event') setItems((before) => [...before, data.item])
  })
  return items
}
