/** Deliveries, newest first. New ones come in by themselves, except while a row that the reader looks at would move. */
import { useInfiniteQuery } from '@tanstack/react-query'
import type { Delivery } from '@windlass/protocol'
import { useEffect, useRef, useState, type ReactElement, type RefObject } from 'react'
import { Link, useLocation } from 'wouter'
import { useMedia } from '../looks/media.ts'
import { Status } from '../looks/status.tsx'
import { Button } from '../parts/button.tsx'
import { Command } from '../parts/copy.tsx'
import { Empty } from '../parts/empty.tsx'
import layout from '../parts/layout.module.css'
import { Loading } from '../parts/loading.tsx'
import { Problem } from '../parts/problem.tsx'
import { When } from '../parts/when.tsx'
import { WindowedList } from '../parts/windowed-list.tsx'
import { useListCursor } from '../shell/list-cursor.ts'
import { useShortcuts } from '../shell/shortcuts.ts'
import type { DeliveryFilter } from '../url/delivery-filter.ts'
import { paths } from '../url/paths.ts'
import styles from './deliveries.module.css'
import { describeDelivery, lookOfDelivery } from './outcome.ts'
import { deliveryQueries } from './queries.ts'

interface ListProps {
  readonly filter: DeliveryFilter
  /** Absent where the filters are fixed. */
  readonly onChange?: ((filter: DeliveryFilter) => void) | undefined
}

/** Height of a row in wide windows; the styles say the same. Pixels. */
const ROW_PX = 56

export function DeliveryList({ filter, onChange }: ListProps): ReactElement {
  const [, go] = useLocation()
  const list = useInfiniteQuery({ ...deliveryQueries.list(filter), staleTime: 0 })
  const frame = useRef<HTMLDivElement>(null)
  const isNarrow = useMedia('(max-width: 900px)')
  const { shown, count, show } = useCalm(
    (list.data?.pages ?? []).flatMap(({ items }) => items),
    frame,
  )
  const {
    index: cursor,
    move,
    onFocus,
  } = useListCursor(
    shown.map(({ id }) => id),
    frame,
    () => list.hasNextPage && void list.fetchNextPage(),
  )
  const current = shown[cursor]
  useShortcuts('List', [
    { keys: 'j', does: 'Next delivery', run: () => move(1) },
    { keys: 'k', does: 'Previous delivery', run: () => move(-1) },
    { keys: 'Enter', does: 'Open the delivery', run: () => current && go(paths.deliveries(current.id)) },
    { keys: 'r', does: 'Show new deliveries', run: show },
  ])
  if (list.isPending) return <Loading rows={10} what="deliveries" />
  if (list.data === undefined) return <Problem error={list.error} onRetry={() => void list.refetch()} />
  if (shown.length === 0 && !list.hasNextPage) return <NoDeliveries filter={filter} onChange={onChange} />
  return (
    <div ref={frame} className={layout['tight']} onFocus={onFocus}>
      {count > 0 && (
        <Button small onClick={show}>
          Show {count === 1 ? '1 new delivery' : `${count} new deliveries`}
        </Button>
      )}
      <div className={styles['list']}>
        <WindowedList
          label="Deliveries"
          rows={shown}
          rowHeight={isNarrow ? 'auto' : ROW_PX}
          keyOf={({ id }) => id}
          reveal={cursor < 0 ? undefined : cursor}
          render={(delivery, index) => <DeliveryRow delivery={delivery} isCurrent={index === cursor} />}
        />
      </div>
      {list.hasNextPage && (
        <Button isBusy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
          Show older deliveries
        </Button>
      )}
    </div>
  )
}

/** Distance from the top of the page up to which new rows may move the others. Pixels. */
const TOP_PX = 40

/** Holds back what is newer than the first shown row while the list is scrolled, has the pointer or the focus. */
function useCalm(
  items: readonly Delivery[],
  frame: RefObject<HTMLElement | null>,
): { readonly shown: readonly Delivery[]; readonly count: number; readonly show: () => void } {
  const newest = items[0]?.id
  const [first, setFirst] = useState<string>()
  useEffect(() => {
    const isRead = scrollY > TOP_PX || frame.current?.matches(':hover, :focus-within') === true
    if (!isRead) setFirst(newest)
  }, [newest, frame])
  const held = Math.max(
    0,
    items.findIndex(({ id }) => id === first),
  )
  return { shown: items.slice(held), count: held, show: () => setFirst(newest) }
}

function DeliveryRow({ delivery, isCurrent }: { readonly delivery: Delivery; readonly isCurrent: boolean }): ReactElement {
  const { id, event, repo, branch, revision, receivedAt, isPolled, replayOf } = delivery
  return (
    <div className={styles['row']} data-current={isCurrent}>
      <div className={styles['state']}>
        <Status look={lookOfDelivery(delivery)} />
      </div>
      <div className={styles['main']}>
        <div className={styles['what']}>
          <Link href={paths.deliveries(id)} className={styles['event'] ?? ''}>
            <bdi>{event ?? 'unknown event'}</bdi>
          </Link>
          {repo !== undefined && <bdi className={styles['repo']}>{repo}</bdi>}
          {branch !== undefined && <bdi className={styles['ref']}>{branch}</bdi>}
          {revision !== undefined && <bdi className={styles['ref']}>{revision.slice(0, 8)}</bdi>}
          {isPolled === true && <span className={layout['tag']}>missed</span>}
          {replayOf !== undefined && <span className={layout['tag']}>replay</span>}
        </div>
        <p className={styles['why']}>
          <bdi>{describeDelivery(delivery)}</bdi>
        </p>
      </div>
      <div className={styles['side']}>
        <bdi className="cut">{senderOf(delivery)}</bdi>
        <When at={receivedAt} />
      </div>
    </div>
  )
}

/** Returns the name of the webhook, or of what else reported the event. */
export function senderOf({ webhook, forge, registry }: Delivery): string {
  return webhook ?? forge ?? registry ?? 'windlass'
}

function NoDeliveries({ filter, onChange }: ListProps): ReactElement {
  const isFiltered = Object.keys(filter).length > (onChange === undefined ? 1 : 0)
  if (isFiltered && onChange !== undefined)
    return <Empty action={<Button onClick={() => onChange({})}>Drop all filters</Button>}>No deliveries match.</Empty>
  return (
    <Empty action={<Command text="windlass connect git --help" />}>
      No deliveries yet. A forge reports its events once it knows the address of a webhook. Deliveries are kept for 30 days.
    </Empty>
  )
}
